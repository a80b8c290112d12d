"""Members with windows of different sizes: the smallest is agreed on, and nobody is slower for the order of joining."""

from collections.abc import Awaitable, Callable

from ringcast.model import Config, profile
from ringcast.runtime import Group
from ringcast.testing import World

WIDE = profile("test", capacity=4096, window_bytes=1 << 22)
NARROW = profile("test", capacity=64, window_bytes=1 << 16)
TIGHT = profile("test", window_bytes=4_000)
MESSAGES = [b"%0100d" % number for number in range(2_000)]


async def reading(group: Group) -> None:
    async for _ in group:
        pass


def seconds_for(
    work: Callable[[Group], Awaitable[None]], sender: str, first: str, config: Config, last: Config
) -> float:
    """The members `first`, then one more with its own config: how long the sender takes until everybody has all."""
    with World(reading, list(first), config=config) as world:
        world.config = last
        world.start("Z")
        world.agree()
        began = world.now

        async def send() -> None:
            group = world[sender].group
            assert group is not None and len(group.members) == len(first) + 1
            await work(group)
            await group.flush()

        world.do(sender, send())
        return world.now - began


async def many_to_all(group: Group) -> None:
    await group.send_many(MESSAGES)


async def many_to_the_first(group: Group) -> None:
    for _ in range(200):
        await group.send(bytes(1_500), to=group.members[0])


def test_a_view_agrees_on_the_smallest_windows_of_all_who_are_in_it() -> None:
    with World(reading, ["A", "B"], config=WIDE) as world:
        world.config = NARROW
        world.start("C")
        world.agree()
        for process in world.running():
            view = process.node.view
            assert (view.capacity, view.window_bytes) == (NARROW.capacity, NARROW.window_bytes), process.name


def test_y09_a_smaller_member_that_joins_last_makes_nobody_slower_than_one_that_was_first() -> None:
    always = seconds_for(many_to_all, "A", "AB", NARROW, NARROW)
    last = seconds_for(many_to_all, "A", "AB", WIDE, NARROW)
    first = seconds_for(many_to_all, "A", "AB", NARROW, WIDE)
    assert last <= 1.2 * always and first <= 1.2 * always, (always, first, last)


def test_a_wide_member_acks_often_enough_for_what_a_narrow_one_sends_to_it_alone() -> None:
    """Seed 210363: with each windowful the sender waited for the receiver's interval; a state took 20 s."""
    to_wide = seconds_for(many_to_the_first, "Z", "A", WIDE, TIGHT)
    assert to_wide <= 1.2 * seconds_for(many_to_the_first, "Z", "A", TIGHT, TIGHT)
