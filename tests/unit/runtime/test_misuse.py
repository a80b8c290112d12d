"""What callers do wrong is refused at once, in a sentence, and has touched nothing (Y08 has what groups refuse)."""

import asyncio
import threading
from collections.abc import AsyncIterator
from typing import Any

import pytest

import ringcast
from ringcast import ConfigError, Order, TransportError, UsageError, WaitExpired, profile
from ringcast.runtime import Group, join
from ringcast.runtime.arguments import seeds_of
from ringcast.transport import Endpoint, MemoryHub, MemoryTransport


def alone(**options: Any) -> ringcast.Joining:
    return join("g", name="A", transport=MemoryTransport(MemoryHub(), "A"), config=profile("test"), **options)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"order": "total"}, "order must be ringcast.TOTAL or ringcast.Order.FIFO, got 'total'"),
        ({"order": None}, "order must be ringcast.TOTAL"),
        ({"when_full": "drop"}, "when_full must be 'wait', 'raise' or None"),
        ({"when_full": "drop", "order": Order.TOTAL}, "when_full must be 'wait', 'raise' or None"),
        ({"payload": None}, "a payload must be bytes, got NoneType"),
        ({"payload": "text", "order": Order.TOTAL}, "a payload must be bytes, got str"),
        ({"payload": 7}, "a payload must be bytes, got int"),
    ],
)
def test_a_send_that_cannot_be_meant_is_refused(options: dict[str, Any], words: str) -> None:
    async def body() -> None:
        async with alone() as group:
            await group.send(b"opens the fast way")
            payload = options.pop("payload", b"x")
            with pytest.raises(UsageError, match=words):
                await group.send(payload, **options)
            with pytest.raises(UsageError, match="a payload must be bytes, got NoneType"):
                await group.send_many([b"first", None])  # type: ignore[list-item]
            await group.send(b"last")
            got: list[bytes] = []
            async for event in group:
                if isinstance(event, ringcast.Message):
                    got.append(event.payload)
                    if got[-1] == b"last":
                        break
            assert got == [b"opens the fast way", b"last"]

    asyncio.run(body())


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"config": None}, "config must be a profile's name .* or a Config, got None"),
        ({"config": "huge"}, "unknown profile 'huge'"),
        ({"bind": 7001}, "bind must be 'host:port' or"),
        ({"seeds": 7001}, "seeds must be addresses"),
        ({"seeds": [7001]}, "a seed must be 'host:port'"),
        ({"seeds": [("host", "7001")]}, "a seed must be 'host:port'"),
        ({"timeout": "5"}, "timeout must be seconds"),
        ({"expect": "3"}, "expect must be a number of members"),
        ({"expect": -1}, "expect must be a number of members"),
        ({"seeds": None}, "seeds must be addresses"),
        ({"timeout": -1}, "timeout must be seconds"),
        ({"name": 7}, "name 7 must be text"),
    ],
)
def test_a_join_that_cannot_be_meant_is_refused_before_anything_begins(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        ringcast.join("g", **options)


def test_a_seed_without_a_port_is_refused_at_once() -> None:
    with pytest.raises(TransportError, match="'host' is not an endpoint: write host:port"):
        ringcast.join("g", seeds=["host"])


def test_addresses_may_be_texts_or_pairs_and_seeds_one_or_many() -> None:
    assert seeds_of("h:1") == seeds_of(("h", 1)) == seeds_of(["h:1"]) == seeds_of([("h", 1)]) == ["h:1"]
    assert seeds_of(("h:1", "k:2")) == ["h:1", "k:2"]
    assert seeds_of([("::1", 7)]) == ["[::1]:7"]

    async def body() -> None:
        async with ringcast.join("g", bind=("127.0.0.1", 0), config="test", inspect=False) as group:
            place = Endpoint.parse(group.me.endpoint)
            async with ringcast.join("g", seeds=(place.host, place.port), config="test", inspect=False) as other:
                assert len(other.members) == 2

    asyncio.run(body())


def test_a_join_is_used_once() -> None:
    async def body() -> None:
        joining = alone()
        async with await joining:
            with pytest.raises(UsageError, match="this join of group 'g' was used before"):
                await joining

    asyncio.run(body())


def test_a_list_that_can_be_read_once_is_sent_whole() -> None:
    async def body() -> None:
        async with alone() as group:
            await group.send_many(bytes([number]) for number in range(3))  # type: ignore[arg-type]
            await (await group.queue_many(iter([b"3"])))  # type: ignore[arg-type]
            got: list[bytes] = []
            while len(got) < 4:
                got += [event.payload for event in await group.receive_many(9) if isinstance(event, ringcast.Message)]
            assert got == [b"\x00", b"\x01", b"\x02", b"3"]

    asyncio.run(asyncio.wait_for(body(), 60))


@pytest.mark.parametrize("options", [{"set_state": None}, {"partition": "primary", "found": True}])
def test_who_needs_what_others_have_is_called_before_it_founds(options: dict[str, Any]) -> None:
    """B knows where A was, and calls; A has no seeds. It gets into B's group, not into one of its own."""

    async def load(chunks: AsyncIterator[bytes]) -> None:
        loaded.append(b"".join([chunk async for chunk in chunks]))

    async def read(group: Group) -> None:
        async for _ in group:
            pass

    loaded: list[bytes] = []
    if "set_state" in options:
        options = {"set_state": load, "get_state": lambda: b"kept"}

    async def body() -> None:
        hub = MemoryHub()
        config = profile("test", found_after=30)
        b = join("g", name="B", transport=MemoryTransport(hub, "B"), config=profile("test"), inspect=False, **options)
        async with b as group:
            reading = asyncio.create_task(read(group))
            group._driver.execute(group._node.on_discovered(group._driver.now_ns(), ["mem:A"]))
            a = join("g", name="A", transport=MemoryTransport(hub, "A"), config=config, inspect=False, **options)
            async with a as late:
                assert late.members == group.members and len(late.members) == 2
            reading.cancel()

    asyncio.run(asyncio.wait_for(body(), 60))
    assert loaded in ([], [b"kept"])


def test_who_has_nobody_to_ask_founds_at_once() -> None:
    """With limits so long that a wait for others would not end."""
    config = profile("local", found_after_ns=600 * 10**9, discovery_ns=60 * 10**9)

    async def body() -> None:
        async with asyncio.timeout(20):
            transport = MemoryTransport(MemoryHub(), "A")
            async with join("g", name="A", transport=transport, seeds="mem:A", config=config) as group:
                assert len(group.members) == 1

    asyncio.run(body())


def test_a_seed_that_cannot_be_looked_up_yet_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    async def resolve(text: str) -> Endpoint:
        asked.append(text)
        if text == "later:1" and len(asked) < 3:
            raise TransportError("unknown host 'later'")
        return Endpoint.in_memory("A")

    monkeypatch.setattr("ringcast.runtime.discovery.static.resolve", resolve)

    async def body() -> None:
        hub = MemoryHub()
        async with join("g", name="A", transport=MemoryTransport(hub, "A"), config="test", inspect=False) as a:
            transport = MemoryTransport(hub, "B")
            async with join("g", name="B", transport=transport, seeds="later:1", config="test", inspect=False) as b:
                assert b.members == a.members and len(asked) >= 3

    asyncio.run(body())


def test_a_join_ends_at_its_limit_although_set_state_hangs() -> None:
    cancelled = False

    async def hang(chunks: AsyncIterator[bytes]) -> None:
        nonlocal cancelled
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled = True
            raise

    async def body() -> None:
        hub = MemoryHub()
        a = join("g", name="A", transport=MemoryTransport(hub, "A"), config="test", get_state=lambda: b"state")
        async with a as group:
            reading = asyncio.create_task(read(group))
            transport = MemoryTransport(hub, "B")
            with pytest.raises(WaitExpired, match=r"no state of group 'g' within the 2 s of the join: set_state"):
                await join("g", name="B", transport=transport, seeds="mem:A", config="test", set_state=hang, timeout=2)
            while len(group.members) > 1 or not cancelled:
                await asyncio.sleep(0.01)
            reading.cancel()

    async def read(group: Group) -> None:
        async for _ in group:
            pass

    asyncio.run(asyncio.wait_for(body(), 60))


CALLS: list[tuple[str, Any]] = [
    ("send", lambda group: group.send(b"x")),
    ("send_many", lambda group: group.send_many([b"x"])),
    ("queue", lambda group: group.queue(b"x")),
    ("queue_many", lambda group: group.queue_many([b"x"])),
    ("flush", lambda group: group.flush()),
    ("barrier", lambda group: group.barrier()),
    ("after", lambda group: group.after("")),
    ("leave", lambda group: group.leave()),
    ("close", lambda group: group.close()),
]


def test_a_call_from_a_foreign_loop_or_thread_is_refused_and_both_are_named() -> None:
    async def body() -> None:
        async with alone() as group:
            loop = f"{id(asyncio.get_running_loop()):#x}"
            for name, call in CALLS:
                error = await asyncio.to_thread(called_elsewhere, group, call)
                assert isinstance(error, UsageError), name
                text = str(error)
                assert f"group 'g' lives on event loop {loop} of thread 'MainThread'" in text
                assert "was called on event loop" in text and "use ringcast.sync" in text
            await group.send(b"still works")

    asyncio.run(body())


def test_a_group_does_not_follow_into_the_next_event_loop_of_its_thread() -> None:
    async def begin() -> Group:
        return await alone(inspect=False)

    first = asyncio.new_event_loop()
    group = first.run_until_complete(begin())
    for _, call in CALLS:
        error = called_elsewhere(group, call)
        assert isinstance(error, UsageError) and "was called on event loop" in str(error)
    first.run_until_complete(group.close())
    first.close()


def called_elsewhere(group: Group, call: Any) -> BaseException | None:
    async def body() -> None:
        await call(group)

    try:
        asyncio.run(asyncio.wait_for(body(), 10))
    except Exception as error:
        return error
    return None


def test_a_synchronous_group_that_is_used_in_its_own_get_state_says_so() -> None:
    said: list[BaseException] = []
    done = threading.Event()

    def get_state() -> bytes:
        try:
            a.send(b"from inside")
        except BaseException as error:
            said.append(error)
        done.set()
        return b"state"

    config = profile("test")
    with ringcast.sync.join("g", name="A", config=config, inspect=False, get_state=get_state) as a:
        reading = threading.Thread(target=lambda: list(a), daemon=True)
        reading.start()
        with ringcast.sync.join(
            "g", name="B", seeds=[a.me.endpoint], config=config, inspect=False, set_state=lambda chunks: None
        ):
            assert done.wait(30)
    assert isinstance(said[0], UsageError) and "called on its own thread 'ringcast g'" in str(said[0])
