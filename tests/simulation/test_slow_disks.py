"""Mark files on slow disks: views come all the same, in a bounded time, and a stall of a disk costs nobody its place.

Profile `test`: a member fills up within 200 ms, a roll call has 1.5 s for all attempts, a suspension of views 2.5 s.
"""

from __future__ import annotations

import pytest

from ringcast.model import SECOND, Address, Kind
from simulation.test_primary_partition import PrimaryWorld

NAMES = "ABCDE"


def with_marks(seed: int) -> PrimaryWorld:
    world = PrimaryWorld(seed, primary_mark=True)
    world.form(NAMES)
    assert world.is_primary("A")
    return world


def views_since(world: PrimaryWorld, name: str, since_ns: int) -> int:
    return sum(event.kind is Kind.VIEW and event.t_ns > since_ns for event in world.events(name))


def seconds_until_one(world: PrimaryWorld, names: str, limit_s: float) -> float:
    began_ns = world.clock.now_ns
    assert world.run_until(lambda: world.is_one(names), int(limit_s * SECOND)), [
        (process.name, process.group.explain() if process.group else "") for process in world.alive()
    ]
    return (world.clock.now_ns - began_ns) / SECOND


@pytest.mark.parametrize("disk_s", [0.3, 1.2, 2.0])
@pytest.mark.parametrize("seed", range(3))
def test_a_dead_member_is_excluded_however_slow_all_disks_are(seed: int, disk_s: float) -> None:
    """Within the failure limit and three times what a disk takes; in one view."""
    world = with_marks(seed)
    first = world["A"].node.view.members[0].name
    dead = next(name for name in NAMES if name != first)
    world.disks.update(dict.fromkeys(NAMES, disk_s))
    since_ns = world.clock.now_ns
    world.crash(dead)
    rest = NAMES.replace(dead, "")
    took_s = seconds_until_one(world, rest, 60)
    config = world.config
    detection_s = (config.suspect_after_ns + 2 * config.verify_ns + config.heartbeat_ns) / SECOND
    assert took_s < detection_s + 3 * disk_s + 2 * config.resumer_ns / SECOND
    world.run_for(20 * SECOND)
    assert world.is_one(rest) and all(world.is_primary(name) for name in rest)
    assert max(views_since(world, name, since_ns) for name in rest) == 1
    assert world.verdict() == []


@pytest.mark.parametrize("who", ["coordinator", "another"])
@pytest.mark.parametrize("stall_s", [0.9, 1.9])
def test_a_single_stall_of_a_disk_costs_nobody_its_place(who: str, stall_s: float) -> None:
    world = with_marks(1)
    members = [member.name for member in world["A"].node.view.members]
    slow, dead = (members[0], members[3]) if who == "coordinator" else (members[2], members[3])
    at_first: dict[str, Address] = {name: world[name].address for name in members}
    world.disks[slow] = stall_s
    world.crash(dead)
    rest = NAMES.replace(dead, "")
    seconds_until_one(world, rest, 30)
    world.disks.clear()
    world.run_for(10 * SECOND)
    assert world.is_one(rest)
    assert {name: world[name].address for name in rest} == {name: at_first[name] for name in rest}
    assert world.verdict() == []


@pytest.mark.parametrize("who", ["coordinator", "another"])
def test_who_has_a_disk_that_stores_nothing_any_more_goes_so_that_the_others_have_views(who: str) -> None:
    """Also the coordinator, which calls the roll itself: the others make the view without both."""
    world = with_marks(2)
    members = [member.name for member in world["A"].node.view.members]
    stuck, dead = (members[0], members[3]) if who == "coordinator" else (members[2], members[3])
    world.disks[stuck] = 3600.0
    since_ns = world.clock.now_ns
    world.crash(dead)
    rest = NAMES.replace(dead, "").replace(stuck, "")
    assert world.run_until(lambda: world.is_one(rest), 30 * SECOND)
    world.run_for(20 * SECOND)
    assert world.is_one(rest) and all(world.is_primary(name) for name in rest)
    assert max(views_since(world, name, since_ns) for name in rest) <= 2


def test_explain_and_status_name_the_disk_that_a_view_waits_for() -> None:
    world = with_marks(1)
    members = [member.name for member in world["A"].node.view.members]
    first, slow, dead = members[0], members[2], members[3]
    world.disks[slow] = 1.9
    world.crash(dead)

    def explained(name: str) -> str:
        group = world[name].group
        return "" if group is None else group.explain()

    of_another = f"the mark file of {slow} takes "
    assert world.run_until(lambda: of_another in explained(first), 10 * SECOND)
    assert f"the disk of {slow} has been storing this member's mark for " in explained(slow)
    group = world[slow].group
    assert group is not None
    marks = group.status()["mark_file"]
    assert marks is not None and marks["path"] == slow
    assert marks["writing_seconds"] is not None and marks["recent_seconds"] < 0.1 < marks["writing_seconds"]
    seconds_until_one(world, NAMES.replace(dead, ""), 30)
    assert group.status()["mark_file"]["recent_seconds"] >= 1.9  # type: ignore[index]
