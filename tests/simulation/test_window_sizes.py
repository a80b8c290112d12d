"""Members with windows of different sizes: the smallest is agreed on, and nobody is slower for the order of joining."""

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


def seconds_to_send(first: Config, last: Config) -> float:
    """Three members, the last of them with its own config: how long A takes until everybody has all."""
    world = World(reading, ["A", "B"], config=first)
    with world:
        world.config = last
        world.start("C")
        world.agree()
        began = world.now

        async def send() -> None:
            group = world["A"].group
            assert group is not None and len(group.members) == 3
            await group.send_many(MESSAGES)
            await group.flush()

        world.do("A", send())
        return world.now - began


def test_a_view_agrees_on_the_smallest_windows_of_all_who_are_in_it() -> None:
    with World(reading, ["A", "B"], config=WIDE) as world:
        world.config = NARROW
        world.start("C")
        world.agree()
        for process in world.running():
            view = process.node.view
            assert (view.capacity, view.window_bytes) == (NARROW.capacity, NARROW.window_bytes), process.name


def test_y09_a_smaller_member_that_joins_last_makes_nobody_slower_than_one_that_was_first() -> None:
    always = seconds_to_send(NARROW, NARROW)
    last = seconds_to_send(WIDE, NARROW)
    first = seconds_to_send(NARROW, WIDE)
    assert last <= 1.2 * always and first <= 1.2 * always, (always, first, last)


def seconds_to_send_to_one(others: Config) -> float:
    """B, with tight windows, to A, that has other ones: how long until A has read 300 kB."""
    with World(reading, ["A"], config=others) as world:
        world.config = TIGHT
        world.start("B")
        world.agree()
        began = world.now

        async def send() -> None:
            group = world["B"].group
            assert group is not None
            for _ in range(200):
                await group.send(bytes(1_500), to=group.members[0])
            await group.flush()

        world.do("B", send())
        return world.now - began


def test_a_wide_member_acks_often_enough_for_what_a_narrow_one_sends_to_it_alone() -> None:
    """Seed 210363: with each windowful the sender waited for the receiver's interval; a state took 20 s."""
    assert seconds_to_send_to_one(WIDE) <= 1.2 * seconds_to_send_to_one(TIGHT)
