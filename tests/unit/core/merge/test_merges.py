"""Whole merges of real groups in any views: the M scenarios, and what goes wrong on the way."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

import pytest

from ringcast.core.control import Announce, Join, Refusal, ViewRefusal
from ringcast.core.effects import Effect
from ringcast.core.failure import Reason
from ringcast.core.membership import Phase, Request, RequestKind
from ringcast.core.merge import Party
from ringcast.core.merging import Merging
from ringcast.core.node import Node
from ringcast.core.steps import Until
from ringcast.model import MS, SECOND, Terms, View, ViewId
from ringcast.sim import FrameRule, drop, hold
from simulation.members import Members, address_of, in_views, told


def become_one(world: Members, limit_s: float) -> float:
    """Seconds until all who live share one view that has exactly them; nothing was violated on the way."""
    began_ns = world.clock.now_ns
    is_one = world.run_until(world.share_a_view, int(limit_s * SECOND))
    assert is_one, [str(process.node.view) for process in world.alive()]
    took_s = (world.clock.now_ns - began_ns) / SECOND
    assert world.violations() == []
    return took_s


def subgroups_of(world: Members) -> list[str]:
    """Of the common MergeView, in its order."""
    view = next(world.alive()).node.view
    return ["".join(member.name for member in subgroup) for subgroup in view.subgroups]


def merges_of(world: Members, name: str) -> list[View]:
    return [view for view in world.application(name).views if view.is_merge]


def merging_of(world: Members, name: str) -> Merging:
    coordination = world[name].node.coordination
    assert coordination is not None
    return coordination.merging


def members_of(world: Members, name: str) -> list[str]:
    return sorted(member.name for member in world[name].node.view.members)


def until(world: Members, condition: Callable[[], bool]) -> None:
    """To the half millisecond: a step of a merge takes one."""
    assert world.run_until(condition, 30 * SECOND, MS // 2)


def is_free(world: Members, names: Sequence[str]) -> bool:
    """Nobody is suspended, and nobody takes part in a merge."""
    return all(world.handler(n).suspension is None and merging_of(world, n).participant.merge is None for n in names)


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
    world = in_views(views, seed)
    become_one(world, limit_s)
    if subgroups is not None:
        assert subgroups_of(world) == subgroups


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
    world = in_views(views, seed)
    become_one(world, 20)


@pytest.mark.parametrize("seed", range(5))
def test_one_merge_view_for_random_partitions_of_ten_m17(seed: int) -> None:
    random = Random(seed)
    names = list("ABCDEFGHIJ")
    sides = [random.randrange(4) for _ in names]
    groups = [group for side in range(4) if (group := [n for n, s in zip(names, sides, strict=True) if s == side])]
    world = in_views(" ".join(f"{','.join(group)}:{''.join(group)}/7" for group in groups), seed)
    become_one(world, 3)
    assert sorted(subgroups_of(world)) == sorted("".join(group) for group in groups)
    assert all(len(merges_of(world, name)) == 1 for name in names)


def test_exactly_one_merge_view_with_two_subgroups_m13() -> None:
    world = in_views("A,B:AB C,D:CD")
    world.run_for(10 * SECOND)
    assert all([len(view.subgroups) for view in merges_of(world, name)] == [2] for name in "ABCD")


def test_c_hears_only_b_m18() -> None:
    world = in_views("A,B:AB C:C")
    world.fault("one-way", "A", "C")
    world.clock.after(4 * SECOND, world.mend)
    become_one(world, 8)
    assert len(subgroups_of(world)) == 2


def test_c_is_heard_only_by_b_and_told_to_a_m18() -> None:
    """Announcements reach B alone; B passes them on, and A asks C itself."""
    world = in_views("A,B:AB C:C")
    with FrameRule(world.network, drop, "announce", ["A", "C"], ["A", "C"]) as lost:
        become_one(world, 3)
    assert lost.caught
    assert len(subgroups_of(world)) == 2


def test_the_background_does_nothing_once_all_agree_m15() -> None:
    """M15: views announced out of order are no split, so a healthy group stays at its view."""
    world = in_views("A,B,C:ABC/9")
    a = address_of("A")
    for number in (6, 7, 9, 8):
        for name in "BC":
            world.into(name, told(a, Announce(ViewId(number, a), a)))
    world.run_for(10 * SECOND)
    assert all(world[name].node.view.id.number == 9 and not merges_of(world, name) for name in "ABC")


def test_a_late_heartbeat_of_its_coordinator_makes_nobody_lead_in_its_place() -> None:
    """B hears that D is apart, and behind the present heartbeats of A one of the view before comes (rpc seed 20692)."""
    world = Members()
    world.gather("ABCD")
    late = FrameRule(world.network, hold, "heartbeat", "A", "B", times=1)
    until(world, lambda: bool(late.held))
    world.fault("mute", "D")
    until(world, lambda: world.is_one("ABC"))
    world.send("A", b"in this view")
    world.run_for(world.config_of("A").heartbeat_ns)
    with (
        FrameRule(world.network, drop, "heartbeat", "A", "B") as lost,
        FrameRule(world.network, drop, "heartbeat", "D", ["A", "C"]),
        FrameRule(world.network, drop, "announce", "D", ["A", "C"]),
    ):
        world.mend()
        late.end()
        until(world, lambda: lost.caught == 3)
    assert not world.merge_events("B", "start")
    become_one(world, 5)
    assert world.verdict() == []


def test_who_multicasts_in_a_view_is_not_replaced_because_its_heartbeats_are_lost() -> None:
    """C knows that B has its view by B's messages only, and a late heartbeat of the view before comes (seed 30488)."""
    world = Members()
    world.gather("BCDA")
    late = FrameRule(world.network, hold, "heartbeat", "B", "C", times=1)
    until(world, lambda: bool(late.held))
    with (
        FrameRule(world.network, drop, "heartbeat", "B", "C"),
        FrameRule(world.network, drop, "askview", "A", "B", times=1),
    ):
        world.fault("mute", "A")
        until(world, lambda: world.is_one("BCD"))
        world.send("B", b"in this view")
        world.run_for(10 * MS)
        late.end()
        world.mend()
        until(world, lambda: bool(world.merge_events("A", "start")))
        world.run_for(100 * MS)
    become_one(world, 5)
    assert not world.merge_events("C", "accept")
    assert world.verdict() == []


def test_a_silent_singleton_stays_out_and_the_others_merge_m06() -> None:
    """It announces itself but answers nothing else: the merge goes on without it."""
    world = in_views("A:A B:B C:C D:D", merge_ns=3 * SECOND)
    with FrameRule(world.network, drop, "control", "*", "D"):
        world.run_for(30 * SECOND)
        assert members_of(world, "A") == ["A", "B", "C"]
        assert members_of(world, "D") == ["D"]
    become_one(world, 30)


def test_a_member_that_answers_no_roll_call_cannot_stop_the_healing_of_the_others() -> None:
    world = in_views("A,B:AB C,D:CD E:E")
    with FrameRule(world.network, drop, "ask", "*", "D"):
        assert world.run_until(lambda: world.is_one("ABCE"), 40 * SECOND)


def test_a_rejected_merge_ends_at_once_x5() -> None:
    """C is in a state transfer: it refuses, and the leader is free again one round trip later."""
    world = in_views("A,B:AB C,D:CD")
    world.handler("C").on_state_begun(0, address_of("D"))
    until(world, lambda: bool(world.resumed("A")))
    assert world.resumed("A") == ["merge-ended"]
    start, end = (world.merge_events("A", step)[0].t_ns for step in ("start", "end"))
    assert end - start == 2 * world.network.link.delay_ns
    world.handler("C").on_state_confirmed(world.clock.now_ns, address_of("D"))
    become_one(world, 3)


@pytest.mark.parametrize("step", ["accept", "call", "answer", "view"])
@pytest.mark.parametrize("seed", range(3))
def test_a_coordinator_killed_at_each_step_delays_the_merge_only(step: str, seed: int) -> None:
    world = in_views("A,B:AB C,D:CD E,F:EF", seed)
    until(world, lambda: bool(world.merge_events("C", step)))
    world.crash("C")
    become_one(world, 30)
    until(world, lambda: is_free(world, "ABDEF"))


@pytest.mark.parametrize("name", ["B", "D", "F"])
def test_a_member_killed_during_a_merge_delays_the_merge_only(name: str) -> None:
    world = in_views("A,B:AB C,D:CD E,F:EF")
    until(world, lambda: bool(world.merge_events("A", "call")))
    world.crash(name)
    become_one(world, 30)


def test_merge_req_then_the_leader_dies_twice_and_joins_are_accepted_again_m08() -> None:
    world = in_views("A:A B:B C:C")
    handler, participant = world.handler("C"), merging_of(world, "C").participant
    for times, victim in enumerate("AB", start=1):
        until(world, lambda victim=victim: handler.merge_leader == address_of(victim))  # type: ignore[misc]
        world.crash(victim)
        until(world, lambda times=times: len(world.resumed("C")) == times)  # type: ignore[misc]
        assert world.resumed("C") == ["leader-gone"] * times
        assert participant.merge is None and handler.merge_leader is None
    join = Request(RequestKind.JOIN, address_of("J"))
    handler.on_request(world.clock.now_ns, join)
    assert join in handler.queue


@pytest.mark.parametrize("seed", range(5))
def test_one_way_links_end_in_one_view_once_they_are_whole(seed: int) -> None:
    world = in_views("A,B,C:ABC D,E,F:DEF", seed)
    for sender in "ABC":
        for to in "DEF":
            world.fault("one-way", sender, to)
    world.run_for(20 * SECOND)
    assert not any(merges_of(world, name) for name in world.names)
    world.mend()
    become_one(world, 2)


@pytest.mark.parametrize("seed", range(3))
def test_a_flapping_link_ends_in_one_view(seed: int) -> None:
    world = in_views("A,B,C:ABC D,E,F:DEF", seed)
    for turn in range(40):
        world.cut("ABC", "DEF") if turn % 2 else world.mend()
        world.run_for(73 * MS * (turn % 5 + 1))
    world.mend()
    become_one(world, 20)


def test_a_partition_that_splits_again_during_the_merge() -> None:
    world = in_views("A,B:AB C,D:CD E,F:EF")
    until(world, lambda: bool(world.merge_events("A", "call")))
    world.cut("EF", "ABCD")
    world.run_for(20 * SECOND)
    assert members_of(world, "A") == ["A", "B", "C", "D"]
    world.mend()
    become_one(world, 5)


@pytest.mark.parametrize(("place", "limit_s"), [("lan", 2.0), ("local", 0.3)])
@pytest.mark.parametrize("seed", range(3))
def test_healing_takes_at_most_two_seconds_on_a_lan_and_a_third_of_one_on_one_machine(
    seed: int, place: str, limit_s: float
) -> None:
    world = in_views("A,B,C:ABC D,E,F:DEF", seed, place)
    world.cut("ABC", "DEF")
    world.run_for(30 * SECOND)
    world.mend()
    assert become_one(world, limit_s) <= limit_s


def test_a_leader_that_yields_takes_part_in_the_lower_leaders_merge() -> None:
    """C asks E when A, which C has not heard of, asks C: C's merge ends, and C accepts A's at once."""
    world = in_views("A:A C:C E:E")
    world.fault("isolate", "A")
    world.fault("one-way", "E", "C")  # C never gets E's answer.
    raise_merge(world, "C", "E")
    assert world.handler("C").phase is Phase.LEADING
    world.mend()
    raise_merge(world, "A", "C")
    world.run_for(2 * MS)
    assert world.resumed("C") == ["merge-ended"]
    assert world.handler("C").merge_leader in (address_of("A"), None)
    become_one(world, 3)
    assert any("yielded to A#1~1" in str(event.detail) for event in world.events("C"))


def test_a_merge_leader_learns_at_once_who_is_missing_also_from_a_party_that_suspects_it() -> None:
    """C has gone on without B, so B's part of A's merge has failed. That brings up everybody whom B suspects, A too.
    A lives: it must not wait for its limit, and then blame B."""
    world = in_views("A:A/5 B,C:ABC/3")
    coordination = world["B"].node.coordination
    assert coordination is not None and coordination.membership.as_coordinator is not None
    coordinator = coordination.membership.as_coordinator
    until(world, lambda: coordinator.handler.merge_leader is not None)
    world.network.cut([("C", "B")], ("control",))
    until(world, lambda: coordinator.change is not None and coordinator.change.merge_id is not None)
    assert coordinator.change is not None
    since_ns = world.clock.now_ns
    coordination.membership.suspicions.add(address_of("A"), "was not heard for a while", Until.VIEW)
    world.into("B", told(address_of("C"), Refusal(coordinator.change.roll_call.id, "already in C#1|9", gone=True)))
    world.run_for(world.network.link.delay_ns)
    ended, *_ = world.merge_events("A", "end", since_ns)
    assert (ended.detail or {})["why"] == "B#1 has no digest for C#1"
    world.network.mend_all()
    become_one(world, 10)


def test_the_limit_of_a_view_that_spreads_is_not_that_of_the_change_after_it() -> None:
    """A leads a merge, has installed its view and is free for requests, while the view still spreads. B refuses the
    view just when a batch is due: the next roll call begins, and its limit must run, for C dies before it answers."""
    world = in_views("A,B:AB/5 C:C/3")
    coordination, config = world["A"].node.coordination, world["A"].node.config
    assert coordination is not None and coordination.membership.as_coordinator is not None
    leading = coordination.membership.as_coordinator
    until(world, lambda: leading.change is not None and leading.change.complete is not None)
    world.network.cut([("B", "A")])  # What B says of the view does not come.
    until(world, lambda: leading.change is not None and leading.change.spreading is not None)
    spreading = leading.change and leading.change.spreading
    assert spreading is not None
    join = Join(False, False, config.capacity, config.window_bytes, Terms.of(config, primary=False, reunites=False))
    refusal = ViewRefusal(spreading.view.id, "not at its cut")
    world.into("A", told(address_of("D"), join))
    world.into("A", told(address_of("B"), refusal, later_ns=config.gather_ns))
    assert leading.change is not None and leading.change.merge_id is None
    world.crash("C")
    assert world.run_until(lambda: not {"B", "C"} & set(members_of(world, "A")), 3 * SECOND)


def test_a_merge_view_is_sent_also_to_a_member_that_is_suspected_when_it_is_installed() -> None:
    """M has answered A's roll call and holds. A suspects it before the other side has answered, and waits for it no
    longer; M is heard again, and must not hold until it is found to be behind."""
    world = in_views("A,M:AM/5 C:C/3")
    coordination = world["A"].node.coordination
    assert coordination is not None and coordination.membership.as_coordinator is not None
    leading = coordination.membership.as_coordinator
    until(world, lambda: leading.change is not None and leading.change.merge_id is not None)
    world.network.cut([("C", "A")], ("control",))
    until(world, lambda: leading.change is not None and leading.change.complete is not None)

    def suspected(node: Node, now_ns: int) -> list[Effect]:
        assert node.coordination is not None
        found = node.coordination.detector._suspect(now_ns, address_of("M"), Reason.SILENT)
        return node.coordination.carry_out(now_ns, found)

    world.network.mend_all()
    world.network.cut([("M", "A")])
    world.into("A", suspected)
    until(world, lambda: world["A"].node.view.is_merge)
    world.run_for(2 * world.network.link.delay_ns)
    assert world["M"].node.view == world["A"].node.view


def follower_that_suspects(world: Members) -> Callable[[str, str], None]:
    """B follows A's merge, from a view with A, which it has suspected before. `suspect(member, why)` is B's."""
    coordination = world["B"].node.coordination
    assert coordination is not None
    membership = coordination.membership
    raise_merge(world, "A", "B")
    until(world, lambda: world.handler("B").merge_leader == address_of("A"))
    assert "A" in members_of(world, "B")
    membership.suspicions.add(address_of("A"), "is in A#1|5, without this member", Until.VIEW)

    def suspect(name: str, why: str) -> None:
        def put(node: Node, now_ns: int) -> list[Effect]:
            assert node.coordination is not None
            return node.coordination.carry_out(now_ns, membership.suspect(now_ns, address_of(name), why))

        world.into("B", put)

    return suspect


def test_an_older_suspicion_of_a_merge_leader_that_lives_does_not_end_its_merge() -> None:
    """A new suspicion, of C, brings up A's too: but A's request came after it (seed 004, case #3)."""
    world = in_views("A:A/5 B,C:ABC/3")
    suspect = follower_that_suspects(world)
    since_ns = world.clock.now_ns
    suspect("C", "silent")
    suspect("A", "is in A#1|5, without this member")
    become_one(world, 10)
    assert "leader-gone" not in world.resumed("B", since_ns)


def test_a_merge_leader_that_was_suspected_before_its_request_and_then_dies_is_gone() -> None:
    world = in_views("A:A/5 B,C:ABC/3")
    follower_that_suspects(world)
    since_ns = world.clock.now_ns
    world.crash("A")
    until(world, lambda: bool(world.resumed("B", since_ns)))
    assert world.resumed("B", since_ns) == ["leader-gone"]
    config = world.config_of("B")
    assert world.clock.now_ns - since_ns < config.suspect_after_ns + 2 * config.verify_ns + config.heartbeat_ns


def raise_merge(world: Members, *names: str) -> None:
    """The first of these finds out that the views of these are apart."""
    views = [(address_of(name), world[name].node.view) for name in names]
    parties = tuple(Party(member, view, (member,)) for member, view in views)

    def raised(node: Node, now_ns: int) -> list[Effect]:
        assert node.coordination is not None
        return node.coordination.carry_out(now_ns, node.coordination.merging.raise_merge(now_ns, parties))

    world.into(names[0], raised)
