"""Whole merges, with real components and a scripted roll call (world.py): the M scenarios at their cheapest level."""

from random import Random

import pytest

from ringcast.core.membership import Phase, Request, RequestKind
from ringcast.core.merge import Party
from ringcast.model import Kind, ViewId
from unit.core.merge.world import LATENCY_NS, World, member


@pytest.mark.parametrize(
    ("scenario", "views", "limit_s", "subgroups"),
    [
        ("M09, M13", "A,B:AB/10 C,D:CD/10", 2, ["AB", "CD"]),
        ("M10", "A,B:AB C,D:CD E,F:EF G,H:GH", 2, ["AB", "CD", "EF", "GH"]),
        ("M02", "A:ABC/5 B,C:BC/6", 2, None),
        ("M05", "A:BAC/5 B,C:BC/6", 2, None),
        ("M25", "A,B:AB/5 C:ABC/4", 2, None),
        ("three singletons", "A:A B:B C:C", 2, ["A", "B", "C"]),
    ],
)
@pytest.mark.parametrize("seed", range(5))
def test_partitions_become_one_within_two_seconds(
    scenario: str, views: str, limit_s: float, subgroups: list[str] | None, seed: int
) -> None:
    world = World(views, seed)
    world.run_until_one(limit_s)
    if subgroups is not None:
        assert world.subgroups() == subgroups


@pytest.mark.parametrize(
    ("scenario", "views"),
    [
        ("M12 B does not have A", "A,X:ABX/5 B:B/9"),
        ("M12 with the smaller number at B", "A:AB/5 B:B/1"),
        ("M03", "A:AB/4 B:BC/3 C:CD/2 D,E:DE/1"),
        ("M03 upwards", "A:AB/1 B:BC/2 C:CD/3 D,E:DE/4"),
        ("M22", "3,4,5,6:34567/7 7:234567/6"),
        ("M24 downwards", "A:AC/5 B,C:ABC/4"),
        ("M24 upwards", "A:AC/5 B,C:BAC/6"),
        ("cyclic views", "A:BA/1 B:CB/2 C:AC/3"),
        ("nobody coordinates", "A:XA B:YB C:ZC"),
        ("O06", "D,A:DA/4 B,C:BCD/3"),
    ],
)
@pytest.mark.parametrize("seed", range(5))
def test_asymmetric_overlapping_and_cyclic_views_heal(scenario: str, views: str, seed: int) -> None:
    world = World(views, seed)
    for gone in ("2", "X", "Y", "Z"):
        if any(member(gone) in peer.view for peer in world.living) and gone not in world.peers:
            for peer in world.living:
                world.after(3_000_000_000, peer, lambda peer=peer, gone=gone: peer.suspect(member(gone)))  # type: ignore[misc]
    world.run_until_one(20)


@pytest.mark.parametrize("seed", range(5))
def test_one_merge_view_for_random_partitions_of_ten_m17(seed: int) -> None:
    random = Random(seed)
    names = list("ABCDEFGHIJ")
    sides = [random.randrange(4) for _ in names]
    groups = [group for side in range(4) if (group := [n for n, s in zip(names, sides, strict=True) if s == side])]
    world = World(" ".join(f"{','.join(group)}:{''.join(group)}/7" for group in groups), seed)
    world.run_until_one(3)
    assert sorted(world.subgroups()) == sorted("".join(group) for group in groups)
    assert all(len(peer.merges) == 1 for peer in world.living)


def test_exactly_one_merge_view_with_two_subgroups_m13() -> None:
    world = World("A,B:AB C,D:CD")
    world.run(10)
    assert all([len(view.subgroups) for view in peer.merges] == [2] for peer in world.living)


def test_c_hears_only_b_m18() -> None:
    world = World("A,B:AB C:C")
    world.is_cut = lambda sender, to: sender == "A" and to == "C" and world.now_ns < 4_000_000_000
    world.run_until_one(8)
    assert len(world.subgroups()) == 2


def test_c_is_heard_only_by_b_and_told_to_a_m18() -> None:
    """Announcements reach B alone; B passes them on, and A asks C itself."""
    world = World("A,B:AB C:C")
    world["C"].detector.outsiders.forget("A:1")
    world["A"].detector.outsiders.forget("C:1")
    world.run_until_one(3)
    assert len(world.subgroups()) == 2


def test_the_background_does_nothing_once_all_agree_m15() -> None:
    """M15: views announced out of order are no split, so a healthy group stays at its view."""
    world = World("A,B,C:ABC/9")
    a = world["A"]
    for number in (6, 7, 9, 8):
        for name in ("B", "C"):
            world[name].obey(world[name].detector.on_announcement(0, a.me, ViewId(number, a.me), a.me))
    world.run(10)
    assert all(peer.view.id.number == 9 and not peer.merges for peer in world.living)


@pytest.mark.parametrize("seed", range(3))
def test_fifty_singletons_m27(seed: int) -> None:
    names = [f"m{number:02}" for number in range(50)]
    world = World(" ".join(f"{name}:{name}," for name in names), seed)
    world.run_until_one(20)
    assert all(len(peer.merges) == 1 for peer in world.living)
    assert world.sent < 50 * 40


def test_ten_groups_of_ten() -> None:
    names = [[f"g{group}m{rank}" for rank in range(10)] for group in range(10)]
    world = World(" ".join(f"{','.join(group)}:{','.join(group)}" for group in names))
    world.run_until_one(20)
    assert len(world.subgroups()) == 10


def test_a_silent_singleton_stays_out_and_the_others_merge_m06() -> None:
    """It announces itself but answers nothing else: the merge goes on without it."""
    world = World("A:A B:B C:C D:D", merge_ns=3_000_000_000)
    real = world["D"].receive
    world["D"].receive = lambda sender, message: None  # type: ignore[method-assign]
    world.run(30)
    assert sorted(m.name for m in world["A"].view.members) == ["A", "B", "C"]
    assert len(world["D"].view.members) == 1
    world["D"].receive = real  # type: ignore[method-assign]
    world.run_until_one(30)


def test_a_member_that_answers_no_roll_call_cannot_stop_the_healing_of_the_others() -> None:
    world = World("A,B:AB C,D:CD E:E")
    world["D"].is_wedged = True
    world.run(40)
    assert sorted(m.name for m in world["A"].view.members) == ["A", "B", "C", "E"]


def test_a_rejected_merge_ends_at_once_x5() -> None:
    """C is in a state transfer: it refuses, and the leader is free again one round trip later."""
    world = World("A,B:AB C,D:CD")
    world["C"].handler.on_state_begun(0, member("D"))
    while not world["A"].resumed:
        world.run(0.001)
    assert world["A"].resumed == ["merge-ended"]
    merge = [e for e in world["A"].events if e.kind is Kind.MERGE and e.detail is not None]
    start, end = (next(e.t_ns for e in merge if e.detail and e.detail["step"] == step) for step in ("start", "end"))
    assert end - start == 2 * LATENCY_NS
    world["C"].handler.on_state_confirmed(world.now_ns, member("D"))
    world.run_until_one(3)


@pytest.mark.parametrize("step", ["start", "call", "view"])
@pytest.mark.parametrize("seed", range(3))
def test_a_leader_killed_at_each_step_leaves_nobody_suspended_and_the_merge_completes_later(
    step: str, seed: int
) -> None:
    world = World("A,B:AB C,D:CD E,F:EF", seed)
    while step not in world.merge_steps("A"):
        world.run(0.0005)
    world.crash("A")
    world.run(0.5)
    followers = [peer for peer in world.living if peer.handler.phase is Phase.FOLLOWING]
    world.run_until_one(30)
    for peer in followers:
        assert peer.resumed[0] in ("leader-gone", "merge-view")
    assert all(peer.handler.suspension is None and peer.participant.merge is None for peer in world.living)


@pytest.mark.parametrize("step", ["accept", "call", "answer", "view"])
@pytest.mark.parametrize("seed", range(3))
def test_a_coordinator_killed_at_each_step_delays_the_merge_only(step: str, seed: int) -> None:
    world = World("A,B:AB C,D:CD E,F:EF", seed)
    while step not in world.merge_steps("C"):
        world.run(0.0005)
    world.crash("C")
    world.run_until_one(30)
    assert all(peer.handler.suspension is None for peer in world.living)


@pytest.mark.parametrize("name", ["B", "D", "F"])
def test_a_member_killed_during_a_merge_delays_the_merge_only(name: str) -> None:
    world = World("A,B:AB C,D:CD E,F:EF")
    while "call" not in world.merge_steps("A"):
        world.run(0.0005)
    world.crash(name)
    world.run_until_one(30)


def test_merge_req_then_the_leader_dies_twice_and_joins_are_accepted_again_m08() -> None:
    world = World("A:A B:B C:C")
    c = world["C"]
    for times, victim in enumerate(("A", "B"), start=1):
        while c.handler.merge_leader != member(victim):
            world.run(0.0005)
        world.crash(victim)
        while len(c.resumed) < times:
            assert c.participant.merge is not None
            world.run(0.0005)
        assert c.resumed == ["leader-gone"] * times
        assert c.participant.merge is None and c.handler.merge_leader is None
    world["C"].handler.on_request(world.now_ns, Request(RequestKind.JOIN, member("J")))
    assert Request(RequestKind.JOIN, member("J")) in world["C"].handler.queue


@pytest.mark.parametrize("seed", range(5))
def test_one_way_links_end_in_one_view_once_they_are_whole(seed: int) -> None:
    world = World("A,B,C:ABC D,E,F:DEF", seed)
    world.is_cut = lambda sender, to: sender in "ABC" and to in "DEF"
    world.run(20)
    assert all(not peer.merges for peer in world.living)
    world.is_cut = lambda sender, to: False
    world.run_until_one(2)


@pytest.mark.parametrize("seed", range(3))
def test_a_flapping_link_ends_in_one_view(seed: int) -> None:
    world = World("A,B,C:ABC D,E,F:DEF", seed)
    for turn in range(40):
        world.is_cut = (
            (lambda sender, to: (sender in "ABC") != (to in "ABC")) if turn % 2 else (lambda sender, to: False)
        )
        world.run(0.073 * (turn % 5 + 1))
    world.is_cut = lambda sender, to: False
    world.run_until_one(20)


def test_a_partition_that_splits_again_during_the_merge() -> None:
    world = World("A,B:AB C,D:CD E,F:EF")
    while "call" not in world.merge_steps("A"):
        world.run(0.0005)
    world.is_cut = lambda sender, to: (sender in "EF") != (to in "EF")
    world.run(20)
    assert sorted(m.name for m in world["A"].view.members) == ["A", "B", "C", "D"]
    world.is_cut = lambda sender, to: False
    world.run_until_one(5)


@pytest.mark.parametrize("seed", range(3))
def test_healing_takes_at_most_two_seconds_on_a_lan_and_a_third_of_one_on_one_machine(seed: int) -> None:
    for place, limit_s in (("lan", 2.0), ("local", 0.3)):
        world = World("A,B,C:ABC D,E,F:DEF", seed, place)
        world.is_cut = lambda sender, to: (sender in "ABC") != (to in "ABC")
        world.run(30)
        world.is_cut = lambda sender, to: False
        assert world.run_until_one(limit_s) <= limit_s


def test_the_same_seed_gives_the_same_run() -> None:
    def told(seed: int) -> list[str]:
        world = World("A,B:AB C,D:CD E:E", seed)
        world.run(5)
        return [str((e.t_ns, e.kind, e.detail)) for peer in world.living for e in peer.events]

    assert told(3) == told(3) != told(4)


def test_a_leader_that_yields_takes_part_in_the_lower_leaders_merge() -> None:
    """C asks E when A, which C has not heard of, asks C: C's merge ends, and C accepts A's at once."""
    world = World("A:A C:C E:E")
    c, a = world["C"], world["A"]
    world.is_cut = lambda sender, to: "A" in (sender, to) or (sender, to) == ("E", "C")  # C never gets E's answer.
    c.obey(
        c.leader.on_raised(0, (Party(c.me, c.view, (c.me,)), Party(world["E"].me, world["E"].view, (world["E"].me,))))
    )
    assert c.handler.phase is Phase.LEADING
    world.is_cut = lambda sender, to: False
    a.obey(a.leader.on_raised(0, (Party(a.me, a.view, (a.me,)), Party(c.me, c.view, (c.me,)))))
    world.run(0.002)
    assert c.resumed == ["merge-ended"]
    assert c.handler.merge_leader in (a.me, None)
    world.run_until_one(3)
    assert any("yielded to A#0~1" in str(e.detail) for e in c.events)
