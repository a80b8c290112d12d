"""Effects are carried out in the order in which the node gave them, also when one of them leads to a further fact."""

from __future__ import annotations

import asyncio

from ringcast import join
from ringcast.core import Channel, Deliver, Effect
from ringcast.core.effects import AwaitMerged, MergedOver, StateOver
from ringcast.model import Event, Kind, profile
from ringcast.transport import MemoryHub, MemoryTransport


def test_what_comes_of_an_effect_stands_behind_those_that_were_given_before_it() -> None:
    """A send in the middle of a packet's effects was delivered here before a delivery with a lower number."""
    told: list[int] = []

    async def body() -> None:
        transport = MemoryTransport(MemoryHub(), "A")
        joining = join("g", name="A", transport=transport, config=profile("test"), inspect=False)
        async with joining as group:
            driver = group._driver
            driver.watch(lambda event: told.append(event.value))

            def bring_about_another(effect: Effect) -> None:
                driver.execute([noted(1_002), noted(1_003)])

            driver.on_state = bring_about_another
            driver.execute([StateOver(group.me, None), noted(1_001)])
            driver.execute([noted(1_004)])

    asyncio.run(body())
    assert [value for value in told if value > 1_000] == [1_001, 1_002, 1_003, 1_004]


def test_what_a_node_says_behind_the_end_of_its_place_is_handed_to_nobody() -> None:
    """Simulated seed 30465: whoever lost its place for want of a state read messages of the same wake."""

    async def body() -> None:
        transport = MemoryTransport(MemoryHub(), "A")
        joining = join("g", name="A", transport=transport, config=profile("test"), inspect=False)
        async with joining as group:
            driver = group._driver
            driver.on_state = lambda effect: driver.close("no state")
            driver.inbox.clear()
            late = Deliver(group.me, Channel.GROUP, [b"late"], 1, 1, 4)
            driver.execute([StateOver(group.me, "no state"), late])
            driver.execute([late])
            assert not driver.inbox

    asyncio.run(body())


def test_what_a_node_says_of_states_behind_the_end_of_its_place_is_heard_by_nobody() -> None:
    """Simulated seed 240688: `set_state` got the end of a merged state whose parts were not handed out any more."""
    heard: list[Effect] = []

    async def body() -> None:
        transport = MemoryTransport(MemoryHub(), "A")
        joining = join("g", name="A", transport=transport, config=profile("test"), inspect=False)
        async with joining as group:
            driver = group._driver

            def end(effect: Effect) -> None:
                heard.append(effect)
                driver.close("no state")

            driver.on_state = end
            cut = group.view.id
            driver.execute([MergedOver("another merge came first"), AwaitMerged(cut, cut, group.me, False)])
            driver.execute([MergedOver(None)])

    asyncio.run(body())
    assert heard == [MergedOver("another merge came first")]


def noted(value: int) -> Event:
    return Event(Kind.ACK, 0, value=value)
