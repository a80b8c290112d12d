"""What merging costs, in simulation with whole nodes: many partitions at once, detection in quiet, a leader that dies.

Each test prints its figures; `make merge-costs` runs them in full, for docs/design/merge.md.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from integration.long import IS_LONG
from ringcast.model import MS, SECOND, Config, profile
from simulation.members import Members

LAN: Config = profile("lan")
SIZES: list[int] = [10, 20, 50, 100] if IS_LONG else [10, 20, 50]
QUIET_SIZES: list[int] = [4, 8, 16, 32, 64] if IS_LONG else [4, 16]
RESUMING = {
    "#1": ("view-installed", "view-failed"),
    "#2": ("merge-ended",),
    "#3": ("merge-view", "leader-gone"),
    "#4": ("resumer",),
}


def apart(sides: Sequence[Sequence[str]], seed: int = 1, config: Config = LAN) -> Members:
    """These groups, each of which knows that the others may be somewhere, and hears nothing of them."""
    world = Members(seed, config=config, jitter_ns=0)
    world.cut(*sides)
    for side in sides:
        world.start_together(side)
    for name in world.names:
        others = [world.address(other).endpoint for other in world.names if other != name]
        world.into(name, lambda node, now_ns, others=others: node.on_discovered(now_ns, others))  # type: ignore[misc]
    assert world.run_until(lambda: all(world.is_one(side) for side in sides), 60 * SECOND, 20 * MS)
    return world


def merge_of(sides: Sequence[Sequence[str]], seed: int) -> tuple[float, float, int, int]:
    """(seconds from the heal, packets per member, merges begun, merge views needed)."""
    cluster = apart(sides, seed)
    members = sum(map(len, sides))
    cluster.mend()
    before, began_ns = cluster.network.sent, cluster.clock.now_ns
    assert cluster.run_until(cluster.share_a_view, 20 * SECOND, 5 * MS), "M27: one view within 20 s"
    seconds = (cluster.clock.now_ns - began_ns) / SECOND
    views = max(sum(view.is_merge for view in cluster.application(name).views) for name in cluster.names)
    starts = [event for name in cluster.names for event in cluster.merge_events(name, "start")]
    started = {(event.detail or {})["merge_id"] for event in starts}
    return seconds, (cluster.network.sent - before) / members, len(started), views


def named(count: int, groups: int) -> list[list[str]]:
    return [[f"g{group:02}m{rank:02}" for rank in range(count // groups)] for group in range(groups)]


@pytest.mark.parametrize("count", SIZES)
def test_singletons_become_one_at_a_cost_per_member_that_hardly_grows_m27(count: int) -> None:
    """M27: 50 singletons; and 10, 20, 100."""
    seconds, packets, started, views = merge_of(named(count, count), count)
    print(f"{count} singletons: {seconds:.2f} s, {packets:.0f} packets per member, {started} merges, {views} views")
    assert packets < 120
    assert views == 1


@pytest.mark.parametrize("count", SIZES)
def test_ten_groups_become_one(count: int) -> None:
    seconds, packets, started, views = merge_of(named(count, 10), count)
    print(f"10 groups of {count // 10}: {seconds:.2f} s, {packets:.0f} packets/member, {started} merges, {views} views")
    assert packets < 120


def packets_per_second(count: int, is_cut: bool) -> float:
    """Per member, in a group that has nothing to do; cut: each half has lost the other, and goes on looking for it."""
    names = [name for side in named(count, 1) for name in side]
    cluster = apart([names])
    if is_cut:
        half = names[: count // 2]
        cluster.cut(half, names[count // 2 :])
        assert cluster.run_until(lambda: cluster.is_one(half), 60 * SECOND, 50 * MS)
        cluster.run_for(10 * SECOND)
    before = cluster.network.sent
    cluster.run_for(10 * SECOND)
    return (cluster.network.sent - before) / count / 10


def test_the_background_of_a_member_stays_flat_as_the_group_grows() -> None:
    """Heartbeats to those who watch it, announcements to three outsiders in turn: neither grows with the group."""
    whole = {count: packets_per_second(count, is_cut=False) for count in QUIET_SIZES}
    halves = {count: packets_per_second(count, is_cut=True) for count in QUIET_SIZES}
    for count in QUIET_SIZES:
        print(f"{count} members: {whole[count]:.1f} packets/s per member, cut in half {halves[count]:.1f}")
    largest = QUIET_SIZES[-1]
    assert whole[largest] < 15 and halves[largest] - whole[largest] < 10


STEPS = ["start", "accept", "call", "answer", "view", "end"]


@pytest.mark.parametrize("step", STEPS)
def test_view_handling_resumes_by_a_cause_of_the_seed_when_the_leader_dies_and_the_merge_completes_later(
    step: str,
) -> None:
    """M08 with whole nodes: A leads the merge of A B, C D and E F, and is killed when it has taken this step."""
    cluster = apart(["AB", "CD", "EF"], config=profile("test"))
    cluster.mend()
    healed_ns = cluster.clock.now_ns
    assert cluster.run_until(lambda: bool(cluster.merge_events("A", step, healed_ns)), 20 * SECOND, 50_000)
    crashed_ns = cluster.clock.now_ns
    suspended = "CE"  # They were asked, or will be: the question is on its way.
    cluster.crash("A")
    assert cluster.run_until(lambda: not [n for n in suspended if not cluster.resumed(n, crashed_ns)], 5 * SECOND)
    causes = {name: cluster.resumed(name, crashed_ns)[0] for name in suspended}
    assert cluster.run_until(lambda: cluster.is_one("BCDEF"), 30 * SECOND)
    seconds = (cluster.clock.now_ns - crashed_ns) / SECOND
    assert cluster.run_until(lambda: all(cluster.handler(n).suspension is None for n in "BCDEF"), 5 * SECOND)
    named_causes = {
        name: f"{case} {cause}" for name, cause in causes.items() for case in RESUMING if cause in RESUMING[case]
    }
    assert set(named_causes) == set(causes)
    words = ", ".join(f"{name}: {cause}" for name, cause in named_causes.items())
    print(f"killed after {step!r}: {words}; one view {seconds:.2f} s after the crash")
