"""Large groups: one view from a concurrent start, and what a join costs as the group grows."""

from __future__ import annotations

from ringcast.model import SECOND, profile
from simulation.members import Members


def group_of(names: list[str], **config: int) -> Members:
    world = Members(config=profile("test", **config))
    world.start_together(names)
    assert world.is_soon_one(names, 5 * SECOND)
    return world


def numbered(count: int) -> list[str]:
    return [f"N{number:03}" for number in range(count)]


def packets_of_a_join(count: int) -> int:
    names = numbered(count)
    world = group_of(names, frame_bytes=8_000)
    before = world.network.sent
    world.start("J")
    assert world.is_soon_one([*names, "J"], 5 * SECOND)
    return world.network.sent - before


def test_a_join_costs_packets_in_proportion_to_the_group() -> None:
    small, large = packets_of_a_join(8), packets_of_a_join(32)
    assert large < 6 * small


def test_forty_processes_form_one_view() -> None:
    names = numbered(40)
    world = group_of(names, frame_bytes=8_000)
    assert len({world[name].node.view.id for name in names}) == 1


def test_thirty_processes_form_although_a_view_is_larger_than_a_message_may_be_y08() -> None:
    """Control messages have a limit of their own: not the application's."""
    names = [f"a-process-with-a-name-as-clusters-give-them-{number:03}" for number in range(30)]
    group_of(names, frame_bytes=1_400, max_message_bytes=1_500)
