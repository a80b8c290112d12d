"""The simple forms, in C and in Python: to whoever calls them, coroutines that do what the general way does."""

import asyncio
import gc
import inspect
import sys
import threading
import warnings
import weakref
from typing import Any

import pytest

from ringcast.core import Piece
from ringcast.errors import GroupClosed, UsageError
from ringcast.model import Address, Message
from ringcast.runtime import Group, forms
from ringcast.window import largest, total
from unit.runtime.test_group import SMALL, World, in_world, read, until

ALONE: dict[str, Any] = {"self_delivery": True}


@pytest.fixture(autouse=True, params=[pytest.param("native", marks=pytest.mark.needs("native")), "python"])
def simple_forms(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "python":
        monkeypatch.setattr(forms, "native", None)


async def in_turn(group: Group) -> None:
    """The first message of a turn asks; those behind it need no question."""
    await group.send(b"first")


def payloads(messages: list[Message]) -> list[bytes]:
    return [message.payload for message in messages]


def test_messages_of_one_turn_are_sent_and_read_in_order() -> None:
    @in_world
    async def story(world: World) -> None:
        a, b = await world.open("A", "B", capacity=4096)
        sent = [b"%d" % number for number in range(500)]
        for payload in sent:
            await a.send(payload)
        got = await read(b, 500)
        assert payloads(got) == payloads(await read(a, 500)) == sent
        assert got[7] == Message(a.me, b"7") and got[7].view == b.view and not got[7].private

    story()


def test_messages_that_are_kept_stay_as_they_are_while_others_come_and_go() -> None:
    class Marked(Message):
        __slots__ = ("mark",)

    @in_world
    async def story(world: World) -> None:
        a, b = await world.open("A", "B", capacity=4096, self_delivery=False)
        for number in range(1_000):
            await a.send(b"%d" % number)
        kept: list[Message] = []
        marked = [Marked(a.me, b"%d" % number) for number in range(100)]
        async for event in b:
            if isinstance(event, Message):
                number = int(event.payload)
                if number % 7 == 0:
                    kept.append(event)
                if number < 100:
                    marked.pop()
                    Message(a.me, b"by hand")
                if number == 999:
                    break
        assert kept == [Message(a.me, b"%d" % number) for number in range(0, 1_000, 7)]
        assert all(message.view == b.view for message in kept)

    story()


def test_messages_and_those_of_subclasses_give_back_what_they_held() -> None:
    gone: list[str] = []

    class Noted(Message):
        def __del__(self) -> None:
            gone.append(self.__dict__["note"])

    payload, sender = bytes(200), Address("A", 1, "mem:A")
    for kind in (Message, Noted):
        before = sys.getrefcount(payload), sys.getrefcount(sender), sys.getrefcount(kind)
        for _ in range(2):
            made = [kind(sender, payload) for _ in range(100)]
            for number, message in enumerate(made):
                if isinstance(message, Noted):
                    message.note = f"{number}"  # type: ignore[attr-defined]
            del message
            made.clear()
        assert (sys.getrefcount(payload), sys.getrefcount(sender), sys.getrefcount(kind)) == before
    assert len(gone) == 200
    cycle = Noted(sender, payload)
    cycle.note, cycle.me, alive = "in a cycle", cycle, weakref.ref(cycle)  # type: ignore[attr-defined]
    del cycle
    gc.collect()
    assert alive() is None and gone[-1] == "in a cycle"


def test_a_message_class_that_was_given_a_del_calls_it(monkeypatch: pytest.MonkeyPatch) -> None:
    gone: list[bytes] = []
    monkeypatch.setattr(Message, "__del__", lambda message: gone.append(message.payload), raising=False)
    Message(Address("A", 1, "mem:A"), b"x")
    assert gone == [b"x"]


def test_a_send_that_is_not_awaited_sends_nothing_and_warns() -> None:
    @in_world
    async def story(world: World) -> None:
        a, b = await world.open("A", "B")
        await in_turn(a)
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            a.send(b"never")
            gc.collect()
        assert [str(one.message) for one in said] == ["coroutine 'Group.send' was never awaited"]
        await a.send(b"second")
        assert payloads(await read(b, 2)) == [b"first", b"second"]

    story()


def test_calls_take_effect_when_they_are_awaited_not_when_they_are_made() -> None:
    @in_world
    async def story(world: World) -> None:
        a, b = await world.open("A", "B")
        await in_turn(a)
        early, late = a.send(b"early"), a.send(b"late")
        await late
        await early
        assert payloads(await read(b, 3)) == [b"first", b"late", b"early"]

    story()


def test_a_task_that_is_cancelled_before_it_began_has_sent_nothing_and_taken_nothing() -> None:
    """G15."""

    @in_world
    async def story(world: World) -> None:
        a, b = await world.open("A", "B")
        await in_turn(a)
        sending = asyncio.create_task(a.send(b"cancelled"))
        sending.cancel()
        await asyncio.gather(sending, return_exceptions=True)
        for number in range(9):
            await a.send(b"%d" % number)
        events = aiter(b)
        assert payloads(await read(b, 3)) == [b"first", b"0", b"1"]
        reading = asyncio.create_task(anext(events))  # type: ignore[arg-type]
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)
        unused = events.__anext__()
        assert payloads(await read(b, 2)) == [b"2", b"3"]
        assert await unused == Message(a.me, b"4")
        assert payloads(await read(b, 4)) == [b"5", b"6", b"7", b"8"]

    story()


def test_a_call_is_awaited_once() -> None:
    @in_world
    async def story(world: World) -> None:
        (a,) = await world.open("A")
        await in_turn(a)
        sending = a.send(b"once")
        await sending
        with pytest.raises(RuntimeError, match="cannot reuse already awaited coroutine"):
            await sending
        with pytest.raises(RuntimeError, match="cannot reuse already awaited coroutine"):
            sending.throw(ValueError())
        sending.close()

    story()


def test_a_call_has_the_methods_of_a_coroutine() -> None:
    @in_world
    async def story(world: World) -> None:
        a, b = await world.open("A", "B")
        await in_turn(a)
        with pytest.raises(StopIteration):
            a.send(b"by hand").send(None)
        with pytest.raises(TypeError, match="just-started"):
            (wrong := a.send(b"wrong")).send(1)  # type: ignore[func-returns-value]
        wrong.close()
        with pytest.raises(ValueError, match="thrown"):
            a.send(b"thrown").throw(ValueError("thrown"))
        assert asyncio.iscoroutine(wrong) and asyncio.iscoroutinefunction(a.send)
        await asyncio.wait_for(a.send(b"limited"), 5)
        assert payloads(await read(b, 3)) == [b"first", b"by hand", b"limited"]

    story()


async def fill(group: Group, first: int) -> tuple[asyncio.Task[None], int]:
    """Numbers from there on, until a send waits: that one, and its number."""
    for number in range(first, first + 1_000):
        sending = asyncio.create_task(group.send(b"%d" % number))
        await until(lambda task=sending: task.done() or bool(group.waiting()))  # type: ignore[misc]
        if not sending.done():
            return sending, number
    raise AssertionError("nothing ever waits")


def test_a_call_that_must_wait_waits_is_cancelled_and_goes_on_as_the_general_way_does() -> None:
    @in_world
    async def story(world: World) -> None:
        a, b = await world.open("A", "B", **SMALL, self_delivery=False)
        cancelled, number = await fill(a, 0)
        cancelled.cancel()
        await asyncio.gather(cancelled, return_exceptions=True)
        waiting, same = await fill(a, number)
        assert same == number > 0 and cancelled.cancelled()
        assert payloads(await read(b, number + 1)) == [b"%d" % one for one in range(number + 1)]
        await waiting
        last, _ = await fill(a, number + 1)
        await a.close()
        with pytest.raises(GroupClosed):
            await last

    story()


def test_a_closed_group_takes_nothing_more_in_the_same_turn() -> None:
    @in_world
    async def story(world: World) -> None:
        (a,) = await world.open("A")
        await in_turn(a)
        await a.send(b"second")
        await a.close()
        with pytest.raises(GroupClosed):
            await a.send(b"late")

    story()


def test_in_the_middle_of_a_turn_another_thread_is_refused() -> None:
    @in_world
    async def story(world: World) -> None:
        (a,) = await world.open("A")
        await in_turn(a)
        said: list[BaseException] = []

        def elsewhere() -> None:
            try:
                asyncio.run(a.send(b"from elsewhere"))
            except BaseException as error:
                said.append(error)

        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
        assert isinstance(said[0], UsageError)

    story()


def test_a_loop_that_stopped_in_the_middle_of_a_turn_takes_nothing() -> None:
    loop = asyncio.new_event_loop()
    other = asyncio.new_event_loop()

    async def begin() -> Group:
        from contextlib import AsyncExitStack

        (a,) = await World(AsyncExitStack()).open("A")
        await in_turn(a)
        return a

    try:
        a = loop.run_until_complete(begin())
        with pytest.raises(UsageError):
            other.run_until_complete(a.send(b"too late"))
        loop.run_until_complete(a.close())
    finally:
        other.close()
        loop.close()


def test_what_is_no_plain_payload_is_refused_or_copied_as_ever() -> None:
    @in_world
    async def story(world: World) -> None:
        a, b = await world.open("A", "B", frame_bytes=700)
        await in_turn(a)
        with pytest.raises(UsageError, match="must be bytes"):
            await a.send("text")  # type: ignore[arg-type]
        with pytest.raises(TypeError):
            await a.send()  # type: ignore[call-arg]
        kept = bytearray(b"kept")
        await a.send(kept)  # type: ignore[arg-type]
        kept[:] = b"lost"
        await a.send(bytes(5000))
        await a.send(b"to one", to=b.me)
        got = sorted(payloads(await read(b, 4)))
        assert got == [bytes(5000), b"first", b"kept", b"to one"]

    story()


def test_the_method_shows_what_it_is() -> None:
    assert Group.send.__name__ == "send" and (Group.send.__doc__ or "").startswith("Send one message")
    assert list(inspect.signature(Group.send).parameters) == ["self", "payload", "to", "order", "timeout", "when_full"]


def test_nothing_is_kept_of_calls_that_are_over() -> None:
    @in_world
    async def story(world: World) -> None:
        a, b = await world.open("A", "B", capacity=4096)
        payload = bytes(range(200))
        for number in range(3):
            for _ in range(300):
                await a.send(payload)
            await read(a, 300)
            await read(b, 300)
            await a.flush()
            if number == 0:
                before = sys.getrefcount(payload), sys.getrefcount(a.me)
        gc.collect()
        assert abs(sys.getrefcount(payload) - before[0]) < 20 and abs(sys.getrefcount(a.me) - before[1]) < 20

    story()


@pytest.mark.parametrize(
    ("payloads", "lengths", "are_bytes"),
    [
        ([b"ab", b"cd"], [2, 2], True),
        ([b"", b""], [0, 0], True),
        ([b"a", b"bcd", b""], [1, 3, 0], True),
        ([b"a"], [1], True),
        ([b"a", bytearray(b"bc")], [1, 2], False),
        ([memoryview(b"abc")], [3], False),
        ([Piece(b"ab"), b"ab"], [2, 2], False),
    ],
)
def test_types_and_lengths_of_a_list(payloads: list[bytes], lengths: list[int], are_bytes: bool) -> None:
    sizes, found = forms.measured(payloads)
    assert (list(sizes), found) == (lengths, are_bytes)
    assert total(sizes) == sum(lengths) and largest(sizes) == max(lengths)
