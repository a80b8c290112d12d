"""Y08 as people meet it: the joiner's error, the member's log and explain, and the warning about a small window."""

import asyncio
import logging
from typing import Any

import pytest

import ringcast
from ringcast import JoinRefused, profile
from ringcast.core import Excluded
from ringcast.model import ViewId
from ringcast.runtime import join
from ringcast.transport import MemoryHub, MemoryTransport


def joining(hub: MemoryHub, name: str, seeds: str = "mem:A", **options: Any) -> ringcast.Joining:
    config = profile("test", **options.pop("config", {}))
    return join(
        "g", name=name, transport=MemoryTransport(hub, name), seeds=seeds, config=config, inspect=False, **options
    )


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"config": {"max_message_bytes": 1_500}}, "max_message_bytes is 16777216, not 1500"),
        ({"partition": "primary"}, "partition is 'all', not 'primary'"),
    ],
)
def test_a_joiner_that_differs_gets_an_error_and_the_member_a_line_y08(
    options: dict[str, Any], words: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def body() -> None:
        hub = MemoryHub()
        async with joining(hub, "A") as a:
            with pytest.raises(JoinRefused, match=f"there {words} as here"):
                await joining(hub, "B", **options)
            assert "B is not in the group: it asked to join" in a.explain()
            assert f"refused: here {words}" in a.explain() and "its join has failed" in a.explain()
            async with joining(hub, "C") as c:
                assert len(c.members) == 2

    with caplog.at_level(logging.WARNING, "ringcast"):
        asyncio.run(asyncio.wait_for(body(), 60))
    refusals = [record.message for record in caplog.records if f"here {words} as at" in record.message]
    assert len(refusals) == 1


def test_sides_that_differ_stay_apart_and_explain_it_y08() -> None:
    async def body() -> None:
        hub = MemoryHub()
        config = {"max_message_bytes": 1_500}
        async with joining(hub, "A", seeds="mem:A") as a, joining(hub, "B", seeds="mem:B", config=config) as b:
            a._driver.execute(a._node.on_discovered(a._driver.now_ns(), ["mem:B"]))
            while "cannot merge with this one" not in a.explain() or "cannot merge with this one" not in b.explain():
                await asyncio.sleep(0.01)
            assert "here max_message_bytes is 16777216, not 1500 as there" in a.explain()
            assert "here max_message_bytes is 1500, not 16777216 as there" in b.explain()
            assert len(a.members) == len(b.members) == 1

    asyncio.run(asyncio.wait_for(body(), 60))


def test_a_small_window_is_logged_once_and_explained_y08(caplog: pytest.LogCaptureFixture) -> None:
    async def body() -> None:
        hub = MemoryHub()
        async with joining(hub, "A") as a, joining(hub, "B", config={"capacity": 1}):
            assert "the group's window is 1 messages, that of its smallest member; this member's config allows 64" in (
                a.explain()
            )

    with caplog.at_level(logging.WARNING, "ringcast"):
        asyncio.run(asyncio.wait_for(body(), 60))
    assert sum("joins with capacity 1" in record.message for record in caplog.records) == 1


def test_one_that_comes_back_to_a_group_with_other_terms_ends_with_the_reason_y08() -> None:
    async def body() -> None:
        hub = MemoryHub()
        a = await joining(hub, "A")
        b = await joining(hub, "B", on_exclusion="rejoin")
        await a.close()
        async with joining(hub, "A", config={"max_message_bytes": 1_500}) as other:
            b._driver.on_excluded(Excluded(ViewId(99, other.me)))
            waiting = asyncio.create_task(b.ready())
            with pytest.raises(JoinRefused, match="max_message_bytes is 1500, not 16777216 as here"):
                async for _ in b:
                    pass
            for call in (waiting, b.send(b"x"), b.receive()):
                with pytest.raises(JoinRefused):
                    await call
            await b.close()

    asyncio.run(asyncio.wait_for(body(), 60))


def test_a_merge_that_shrinks_the_window_is_logged_on_the_side_that_had_more_y08(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def body() -> None:
        hub = MemoryHub()
        async with joining(hub, "A", seeds="mem:A") as a, joining(hub, "B", seeds="mem:B", config={"capacity": 2}):
            a._driver.execute(a._node.on_discovered(a._driver.now_ns(), ["mem:B"]))
            await a.wait_for(2)

    with caplog.at_level(logging.WARNING, "ringcast"):
        asyncio.run(asyncio.wait_for(body(), 60))
    assert sum("the merge shrinks the window from 64 to 2 messages" in record.message for record in caplog.records) == 1
