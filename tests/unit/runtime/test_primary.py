"""`partition="primary"`: the smaller side may not send, says so, and comes back with the larger one's state."""

import asyncio
from typing import Any

import pytest

from ringcast.errors import ConfigError, NotPrimary
from ringcast.model import Rejoin, ViewChange
from ringcast.order import Order
from ringcast.runtime import Group, join
from unit.runtime.test_join import World, in_world, until
from unit.runtime.test_state import Ledger


async def three(world: World) -> tuple[list[Ledger], list[Group]]:
    """A and B on the one side, C on the other."""
    ledgers = [Ledger(), Ledger(), Ledger()]
    ways: Any = {"partition": "primary", "found": True}
    groups = [await ledger.enter(world, name, **ways) for ledger, name in zip(ledgers, "ABC", strict=True)]
    await groups[0].send(b"before")
    await until(lambda: all(ledger.entries == [b"before"] for ledger in ledgers))
    cut(world)
    await until(lambda: len(groups[0].members) == 2 and len(groups[2].members) == 1)
    return ledgers, groups


def cut(world: World) -> None:
    for name, transport in world.transports.items():
        others = [n for n in "ABC" if (n == "C") != (name == "C")]
        transport.block([world.transports[other].local for other in others])


def heal(world: World) -> None:
    for transport in world.transports.values():
        transport.unblock()


@in_world
async def test_the_smaller_side_may_not_send_and_says_why(world: World) -> None:
    _, (a, b, c) = await three(world)
    assert a.view.is_primary and b.view.is_primary and not c.view.is_primary
    for attempt in (
        lambda: c.send(b"x"),
        lambda: c.send(b"x", order=Order.TOTAL),
        lambda: c.send(b"x", to=[c.me]),
        lambda: c.send_many([b"x", b"y"]),
        lambda: c.queue_many([b"x", b"y"]),
    ):
        with pytest.raises(NotPrimary, match=r"this side is not primary: 1 of the 3 voters of the primary view A#"):
            await attempt()
    assert "this side is not primary" in c.explain() and "not primary" not in a.explain()
    await a.send(b"on")


@in_world
async def test_after_the_heal_the_smaller_side_comes_back_with_the_state_of_the_larger_one(world: World) -> None:
    ledgers, (a, b, c) = await three(world)
    await a.send_many([b"%d" % number for number in range(20)])
    was = c.me
    heal(world)
    await until(lambda: c.me != was and len(a.members) == 3 and c.me in a.members)
    assert c.me.incarnation > was.incarnation
    await b.send(b"together")
    await until(lambda: all(len(ledger.entries) == 22 for ledger in ledgers))
    assert ledgers[2].entries == ledgers[0].entries
    await c.send(b"and me")
    await until(lambda: ledgers[0].entries[-1] == b"and me")


@in_world
async def test_a_send_that_waits_when_its_side_becomes_the_smaller_one_is_told(world: World) -> None:
    a, b, c = [await world.stack.enter_async_context(world.joining(n, partition="primary", found=True)) for n in "ABC"]
    await until(lambda: len(a.members) == 3)
    sending = asyncio.create_task(c.send_many([bytes(100)] * 500))  # Nobody reads: it waits for room.
    await asyncio.sleep(0.05)
    assert not sending.done()
    cut(world)
    with pytest.raises(NotPrimary):
        await sending
    assert b.view.is_primary


@in_world
async def test_a_message_in_order_that_a_roll_call_held_back_is_refused_with_the_view_of_the_smaller_side(
    world: World,
) -> None:
    """Nobody would ever give it a place, and its receipt waited for one (seed 30889)."""
    _, b, c = [await world.stack.enter_async_context(world.joining(n, partition="primary", found=True)) for n in "ABC"]
    await until(lambda: c.view.is_primary and len(c.members) == 3)
    await c.send(b"placed", order=Order.TOTAL)
    receipt = await c.queue(b"held back")
    c._node.order.hold(())  # A roll call begins in this turn of the loop.
    cut(world)
    await until(lambda: len(c.members) == 1 and b.view.is_primary)
    with pytest.raises(NotPrimary, match="was not sent") as refused:
        async with asyncio.timeout(1):
            await receipt
    assert refused.value.sent is False


@in_world
async def test_the_application_sees_the_view_that_may_not_go_on_and_the_rejoin(world: World) -> None:
    a, b, c = [await world.stack.enter_async_context(world.joining(n, partition="primary", found=True)) for n in "ABC"]
    seen: list[str] = []

    async def read(group: Group) -> None:
        async for event in group:
            if isinstance(event, ViewChange) and group is c:
                seen.append("primary" if event.view.is_primary else "aside")
            elif isinstance(event, Rejoin):
                seen.append("rejoin")

    readers = [asyncio.create_task(read(group)) for group in (a, b, c)]
    await until(lambda: len(a.members) == 3)
    cut(world)
    await until(lambda: len(c.members) == 1 and "aside" in seen)
    heal(world)
    await until(lambda: seen[-2:] == ["rejoin", "primary"])
    assert seen == ["primary", "aside", "rejoin", "primary"]
    for reader in readers:
        reader.cancel()


def test_an_unknown_policy_is_refused() -> None:
    with pytest.raises(ConfigError, match="partition must be 'all' or 'primary', got 'most'"):
        join("g", partition="most")  # type: ignore[arg-type]
