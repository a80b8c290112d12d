"""Large groups: one view from a concurrent start, and what a join costs as the group grows."""

from __future__ import annotations

from ringcast.model import SECOND, profile
from unit.core.membership.world import World


def group_of(count: int) -> tuple[World, list[str]]:
    world = World(1)
    names = [f"N{number:03}" for number in range(count)]
    for name in names:
        world.start(name, config=profile("test", frame_bytes=8_000), expect=count, seeds=names[:3])
    assert world.is_soon_one(names, 5 * SECOND)
    return world, names


def packets_of_a_join(count: int) -> int:
    world, names = group_of(count)
    before = sum(proc.frames_out for proc in world.procs.values())
    world.start("J", config=profile("test", frame_bytes=8_000), seeds=names[:3])
    assert world.is_soon_one([*names, "J"], 5 * SECOND)
    return sum(proc.frames_out for proc in world.procs.values()) - before


def test_a_join_costs_packets_in_proportion_to_the_group() -> None:
    small, large = packets_of_a_join(8), packets_of_a_join(32)
    assert large < 6 * small


def test_forty_processes_form_one_view() -> None:
    world, names = group_of(40)
    assert len({world[name].node.view.id for name in names}) == 1


def test_thirty_processes_form_although_a_view_is_larger_than_a_message_may_be_y08() -> None:
    """Control messages have a limit of their own: not the application's."""
    world = World(1)
    names = [f"a-process-with-a-name-as-clusters-give-them-{number:03}" for number in range(30)]
    config = profile("test", frame_bytes=1_400, max_message_bytes=1_500)
    for name in names:
        world.start(name, config=config, expect=30, seeds=names[:3])
    assert world.is_soon_one(names, 10 * SECOND)
