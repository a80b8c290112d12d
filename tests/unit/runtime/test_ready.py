"""Waiting for others: `ready` after a lost place or on a side that may not go on, `wait_for` so many members."""

import asyncio
import errno
from pathlib import Path
from typing import Any

import pytest

from ringcast import TOTAL, GroupClosed, NotPrimary, UsageError, WaitExpired, profile
from ringcast.core import Excluded
from ringcast.errors import TransportError
from ringcast.model import ViewId
from ringcast.runtime import join
from ringcast.runtime.mark_file import MarkFile
from ringcast.transport import MemoryHub, MemoryTransport


def joining(hub: MemoryHub, name: str, **options: Any) -> Any:
    transport = MemoryTransport(hub, name)
    return join("g", name=name, transport=transport, seeds="mem:A", config=profile("test"), inspect=False, **options)


def test_who_waits_for_members_goes_on_with_the_view_that_has_them() -> None:
    async def body() -> None:
        hub = MemoryHub()
        async with joining(hub, "A") as a:
            assert await a.wait_for(1) == a.view
            waiting = asyncio.create_task(a.wait_for(2))
            async with joining(hub, "B") as b:
                assert (await waiting).members == b.members == (await b.wait_for(2)).members
            with pytest.raises(WaitExpired, match=r"waited 0\.01 s in group 'g': . of 9 members are here: "):
                await a.wait_for(9, timeout=0.01)

    asyncio.run(asyncio.wait_for(body(), 60))


def test_a_close_ends_the_wait() -> None:
    async def body() -> None:
        async with joining(MemoryHub(), "A") as a:
            waiting = asyncio.create_task(a.wait_for(2))
            await asyncio.sleep(0)
            await a.close()
            with pytest.raises(GroupClosed):
                await waiting
            with pytest.raises(GroupClosed):
                await a.ready()

    asyncio.run(asyncio.wait_for(body(), 60))


def test_after_a_lost_place_ready_gives_the_view_of_the_next() -> None:
    async def body() -> None:
        hub = MemoryHub()
        async with joining(hub, "A") as a, joining(hub, "B", on_exclusion="rejoin") as b:
            was = b.me
            assert await b.ready() == b.view
            b._driver.on_excluded(Excluded(ViewId(99, a.me)))
            while b.me == was:
                await asyncio.sleep(0)
            view = await b.ready(timeout=30)
            assert b.me != was and b.me in view
            await b.send(b"again")

    asyncio.run(asyncio.wait_for(body(), 60))


def test_ready_waits_for_the_primary_side_and_says_what_it_lacks() -> None:
    async def body() -> None:
        hub = MemoryHub()
        async with joining(hub, "A", partition="primary", expect=3) as a:
            with pytest.raises(NotPrimary):
                await a.send(b"alone")
            with pytest.raises(WaitExpired, match="this side is not primary: 1 of 3 expected voters"):
                await a.ready(timeout=0.01)
            waiting = asyncio.create_task(a.ready())
            async with joining(hub, "B", partition="primary", expect=3):
                assert (await waiting).is_primary
                await a.send(b"together")

    asyncio.run(asyncio.wait_for(body(), 60))


def test_one_member_may_be_named_as_it_is() -> None:
    async def body() -> None:
        hub = MemoryHub()
        async with joining(hub, "A") as a, joining(hub, "B") as b:
            await a.send(b"for B", to=b.me)
            await a.send(b"in order", to=b.me, order=TOTAL)
            await (await a.queue_many([b"last"], to=b.me))
            got: list[bytes] = []
            while len(got) < 3:
                got += [m.payload for m in await b.receive_many(10) if hasattr(m, "payload")]
            assert sorted(got) == [b"for B", b"in order", b"last"]
            for wrong in ("B", b"B", 7, [b.me, "B"]):
                with pytest.raises(UsageError, match="to must be a member's Address or several of them, got"):
                    await a.send(b"x", to=wrong)

    asyncio.run(asyncio.wait_for(body(), 60))


def test_who_ended_because_its_mark_could_not_be_kept_does_not_speak_of_a_primary_view_to_come(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It said that one was being made, although it had no place in the group any more."""

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    async def body() -> None:
        hub = MemoryHub()
        primary: dict[str, Any] = {"partition": "primary"}
        a = await joining(hub, "A", primary_mark=tmp_path / "A", found=True, **primary)
        monkeypatch.setattr(MarkFile, "_write", full)
        late = asyncio.create_task(joining(hub, "B", **primary)._enter())
        with pytest.raises(TransportError, match="cannot be written"):
            while True:
                await a.receive()
        said = a.explain()
        assert "is no longer in group" in said and "primary" not in said
        late.cancel()
        await asyncio.gather(late, return_exceptions=True)

    asyncio.run(asyncio.wait_for(body(), 60))
