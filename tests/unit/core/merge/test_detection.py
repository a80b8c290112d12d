"""Merge detection: views in flight are no split, real views are read first, the leader is told."""

from collections.abc import Collection
from random import Random
from typing import Any

import pytest

from ringcast.core.control import AreYouThere, AskView, Sighted
from ringcast.core.effects import SendReliable, Unicast, send_once
from ringcast.core.merge import MergeDetector
from ringcast.core.merge.sightings import Outsiders
from ringcast.core.steps import Until
from ringcast.model import MS, SECOND, Address, Config, View, ViewId
from unit.core.calls import carried_out, neighbour, with_calls_made

CONFIG = Config(announce_ns=3600 * SECOND // 8, merge_gather_ns=100 * MS, reread_ns=300 * MS, view_limit_ns=3 * SECOND)


def member(name: str) -> Address:
    return Address(name, 0, f"{name}:1")


def view(text: str) -> View:
    names, _, number = text.partition("/")
    members = tuple(map(member, names))
    return View(ViewId(int(number), members[0]), members)


A, B, C, D, E = map(member, "ABCDE")


def detector_of(me: Address, config: Config, suspected: Collection[Address] = ()) -> Any:
    """What it finds is called at a stand-in, and so stands in the lists that it returns."""
    return with_calls_made(MergeDetector(me, config, Random(1), neighbour(), is_suspected=suspected.__contains__))


def detector(me: Address, held: str, suspected: Collection[Address] = ()) -> Any:
    made = detector_of(me, CONFIG, suspected)
    made.on_view(0, view(held))
    return made


def hear(made: Any, now_ns: int, peer: Address, held: str) -> list[Any]:
    seen = view(held)
    return made.on_announcement(now_ns, peer, seen.id, seen.coordinator)


def reading(made: Any) -> list[Any]:
    return [d for d in made.on_time(100 * MS) if isinstance(d, Unicast)]


def raised(decisions: list[Any]) -> list[str]:
    found = [d for d in decisions if d[0] == "raise_merge"]
    return ["".join(m.name for m in party.members) for _, parties in found for party in parties]


def behind(peer: Address) -> tuple[object, ...]:
    return ("suspect", peer, "has another view", Until.SHOWN)


def test_real_views_are_read_before_anything_is_raised() -> None:
    made = detector(A, "AB/5")
    hear(made, 0, C, "CD/5")
    assert made.deadlines.first_ns == 100 * MS
    assert made.on_time(99 * MS) == []
    assert reading(made) == [send_once(C, AskView())]
    assert raised(made.on_view_answer(101 * MS, C, view("CD/5"))) == ["AB", "CD"]


def test_who_is_no_coordinator_is_asked_and_then_its_coordinator_too() -> None:
    made = detector(A, "AB/5")
    made.on_announcement(0, D, view("CD/5").id)
    assert reading(made) == [send_once(D, AskView())]
    assert made.on_view_answer(101 * MS, D, view("CD/5")) == [send_once(C, AskView())]
    assert raised(made.on_view_answer(102 * MS, C, view("CD/5"))) == ["AB", "CD"]


def test_a_coordinator_that_does_not_answer_is_left_out_and_another_speaks_m22() -> None:
    three, seven = member("3"), member("7")
    made = detector(three, "34567/7")
    hear(made, 0, seven, "234567/6")  # A member that is behind: no reason to merge.
    assert made.on_time(100 * MS) == []
    lost = detector(three, "3456/8")
    hear(lost, 0, seven, "234567/6")
    assert reading(lost) == [send_once(member("2"), AskView()), send_once(seven, AskView())]
    assert lost.on_view_answer(101 * MS, seven, view("234567/6")) == []
    assert raised(lost.on_time(400 * MS)) == ["3456", "7"]


@pytest.mark.parametrize(
    ("case", "mine", "peer", "theirs"),
    [
        ("its real view is ours by now", "AB/5", C, "AB/5"),
        ("we are in it and it is newer: it is on its way to us", "AB/5", C, "CAB/6"),
        ("a member of ours with an older view is behind", "ABC/5", B, "AB/4"),
    ],
)
def test_a_view_in_flight_is_no_split(case: str, mine: str, peer: Address, theirs: str) -> None:
    made = detector(A, mine)
    hear(made, 0, peer, "C/9" if peer == C else "B/9")
    asked = reading(made)
    out = [d for read in asked if isinstance(read, Unicast) for d in made.on_view_answer(101 * MS, peer, view(theirs))]
    assert raised(out + made.on_time(500 * MS)) == []


def test_ids_out_of_order_from_one_member_are_one_view_m15() -> None:
    made = detector(B, "AB/9")
    for number in (6, 7, 9, 8):
        assert made.on_announcement(number, A, ViewId(number, A), A) == ([("shown", A)] if number == 9 else [])
    assert made.on_announcement(10, A, ViewId(9, A), A) == []
    assert made.on_time(100 * MS) == []


def test_views_of_one_creator_at_members_that_are_behind_are_no_merge_m15() -> None:
    made = detector(A, "ABCD/9")
    for peer, number in ((B, 6), (C, 7), (D, 8)):
        assert made.on_announcement(0, peer, ViewId(number, A), A) == []
    assert made.on_time(1 * SECOND) == []


def test_old_news_of_an_outsider_is_ignored_m15() -> None:
    made = detector(A, "A/5")
    hear(made, 0, B, "B/9")
    assert hear(made, 1, B, "B/8") == []
    assert made.sightings.items()[0][1].view == ViewId(9, B)


def test_a_member_that_stays_behind_is_given_our_view_and_after_the_limit_suspected_although_it_lives() -> None:
    made = detector(A, "AB/5")
    quarter = 750 * MS
    assert hear(made, 0, B, "AB/4") == []
    assert hear(made, quarter - 1, B, "AB/4") == []  # A view on its way needs no help.
    assert hear(made, quarter, B, "AB/4") == [("give_view", B)]
    assert hear(made, quarter + 1, B, "AB/4") == []
    assert hear(made, 2 * quarter, B, "AB/4") == [("give_view", B)]
    assert hear(made, 4 * quarter - 1, B, "AB/4") == [("give_view", B)]
    assert hear(made, 4 * quarter, B, "AB/4") == [behind(B)]
    assert hear(made, 4 * quarter + 1, B, "AB/4") == []  # Level-triggered, but not with every heartbeat.
    assert hear(made, 4 * quarter + 1 * SECOND, B, "AB/4") == [behind(B)]


def test_who_came_by_a_merge_is_given_the_merge_view_by_its_own_side_only() -> None:
    made = detector(A, "AB/4")
    made.on_view(0, View(ViewId(5, A), (A, B, C), subgroups=((A, B), (C,))))
    for peer in (B, C):
        hear(made, 0, peer, f"{peer.name}/4")
    assert hear(made, 1 * SECOND, B, "B/4") == [("give_view", B)]
    assert hear(made, 1 * SECOND, C, "C/4") == []
    assert hear(made, 3 * SECOND, C, "C/4") == [behind(C)]


def test_who_acts_gives_the_view_again_and_is_told_of_whom_others_hear() -> None:
    made = detector(B, "ABC/5")
    hear(made, 0, C, "ABC/4")
    assert hear(made, 1 * SECOND, C, "ABC/4") == [SendReliable(A, Sighted(C, ViewId(4, A), A))]
    hear(made, 1 * SECOND, A, "A/1")  # The coordinator is behind too, so B acts.
    assert hear(made, 2 * SECOND, C, "ABC/4") == [("give_view", C)]


def test_a_member_that_caught_up_starts_anew() -> None:
    made = detector(A, "AB/5")
    hear(made, 0, B, "AB/4")
    hear(made, 1 * SECOND, B, "AB/5")
    assert hear(made, 4 * SECOND, B, "AB/4") == []


def test_old_news_of_a_coordinator_that_has_shown_our_view_gives_nobody_its_place() -> None:
    made = detector(B, "ABC/5")
    hear(made, 0, A, "ABC/5")
    hear(made, 1, A, "ABCD/4")  # It was overtaken.
    assert made.acting == made.coordinator_with_us == A
    hear(made, 2, D, "ABCD/4")
    assert reading(made) == []


def test_what_a_coordinator_sends_in_our_view_shows_it() -> None:
    made = detector(B, "ABC/5")
    hear(made, 0, A, "ABCD/4")  # Old, and the first that comes in this view.
    assert made.acting == B
    made.on_shown(A)
    hear(made, 1, A, "ABCD/4")
    assert made.acting == made.coordinator_with_us == A
    made.on_shown(D)  # No member: it has nothing to show.
    hear(made, 2, D, "ABCD/4")
    assert reading(made) == []


def test_a_coordinator_that_answers_with_our_view_has_shown_it() -> None:
    made = detector(B, "ABC/5")
    hear(made, 0, A, "ABCD/4")  # Old, and the first that comes in this view.
    hear(made, 0, D, "ABCD/4")
    assert reading(made) == [send_once(A, AskView()), send_once(D, AskView())]
    assert made.on_view_answer(101 * MS, D, view("ABCD/4")) == []
    assert raised(made.on_view_answer(101 * MS, A, view("ABC/5"))) == []
    assert made.acting == made.coordinator_with_us == A


def test_a_member_that_keeps_telling_a_later_view_is_asked_whether_we_are_in_it() -> None:
    """Seed 291559: only who sent it heartbeats learned that it had gone, and the others did not let D lead."""
    made = detector(D, "ABCDE/5")
    assert not [step for step in hear(made, 0, C, "C/6") if step == send_once(C, AreYouThere())]
    assert send_once(C, AreYouThere()) in hear(made, 1 * SECOND, C, "C/6")
    assert send_once(C, AreYouThere()) not in hear(made, 1 * SECOND + 1, C, "C/6"), "not with every heartbeat"
    assert send_once(E, AreYouThere()) not in hear(detector(D, "ABCD/5"), 1 * SECOND, E, "E/6"), "it is none of us"


def test_the_first_that_has_shown_our_view_speaks_for_us_though_others_stand_before_it() -> None:
    """Seed 291980: the last of six spoke for a side whose first it had not heard, and others of it had."""
    made = detector(D, "ABCDE/5")
    assert (made.acting, made.coordinator_with_us) == (A, D)
    hear(made, 0, C, "ABCDE/5")
    hear(made, 0, E, "ABCDE/5")
    assert (made.acting, made.coordinator_with_us) == (A, C)
    hear(made, 1, A, "ABCDE/5")
    assert made.coordinator_with_us == A


def test_who_does_not_act_passes_on_once_per_view_and_interval() -> None:
    made = detector(B, "AB/5")
    seen = view("CD/5")
    assert hear(made, 0, C, "CD/5") == [SendReliable(A, Sighted(C, seen.id, C))]
    assert hear(made, 1, D, "CD/5") == []
    assert hear(made, CONFIG.announce_ns, C, "CD/5") == [SendReliable(A, Sighted(C, seen.id, C))]


def test_what_a_member_passed_on_counts_as_heard_m18() -> None:
    made = detector(A, "AB/5")
    made.on_sighted(0, B, Sighted(C, ViewId(5, C), C))
    assert reading(made) == [send_once(C, AskView())]
    stranger = detector(A, "AB/5")
    assert stranger.on_sighted(0, E, Sighted(C, ViewId(5, C), C)) == []
    assert stranger.on_time(100 * MS) == []


def test_if_the_coordinator_has_gone_to_another_view_the_next_acts() -> None:
    made = detector(B, "ABC/5")
    hear(made, 0, A, "A/9")
    assert reading(made) == [send_once(A, AskView())]
    out = made.on_view_answer(101 * MS, A, view("A/9"))
    assert ("left_behind", view("A/9")) in out


def test_who_is_counted_in_by_its_coordinators_next_view_leads_no_merge() -> None:
    made = detector(B, "ECB/6")
    hear(made, 0, D, "AD/6")
    made.on_view(0, view("EB/7"))
    assert reading(made) == [send_once(A, AskView()), send_once(D, AskView())]
    assert made.on_view_answer(101 * MS, D, view("AD/6")) == []  # A is silent.
    hear(made, 102 * MS, E, "EBC/8")  # On its way to us.
    assert raised(made.on_time(400 * MS)) == []
    assert send_once(E, AskView()) in made.on_time(500 * MS)
    made.on_view_answer(501 * MS, D, view("AD/6"))
    made.on_view_answer(501 * MS, E, view("EBC/8"))
    assert raised(made.on_time(801 * MS)) == []


def test_who_was_left_by_its_coordinator_learns_it_once_that_was_read() -> None:
    made = detector(B, "ECB/6")
    hear(made, 0, D, "AD/6")
    made.on_view(0, view("EB/7"))
    reading(made)
    made.on_view_answer(101 * MS, D, view("AD/6"))
    hear(made, 102 * MS, E, "EC/8")
    assert raised(made.on_time(400 * MS)) == []
    assert send_once(E, AskView()) in made.on_time(500 * MS)
    made.on_view_answer(501 * MS, D, view("AD/6"))
    made.on_view_answer(501 * MS, E, view("EC/8"))
    assert ("left_behind", view("EC/8")) in made.on_time(801 * MS)


def test_who_sees_a_lower_coordinator_reads_only_that_one_and_announces_itself() -> None:
    made = detector(C, "C/5")
    assert hear(made, 0, D, "D/5") == [("announce_to", ("D:1",))]
    assert hear(made, 0, A, "AB/5") == [("announce_to", ("A:1",))]
    assert reading(made) == [send_once(A, AskView())]
    assert made.on_view_answer(101 * MS, A, view("AB/5")) == [("announce_to", ("A:1",))]


def test_a_leader_that_does_nothing_for_two_merges_is_gone_without() -> None:
    made = detector(C, "C/5")
    now = 0
    out: list[Any] = []
    while not raised(out):
        hear(made, now, A, "A/5")
        hear(made, now, D, "D/5")
        due = made.deadlines.first_ns
        assert due is not None and due < 3600 * SECOND
        now = due
        out = made.on_time(now)
        for read in [d for d in out if isinstance(d, Unicast)]:
            out += made.on_view_answer(now, read.to, view(f"{read.to.name}/5"))
    assert raised(out) == ["C", "D"]
    assert now > 2 * (CONFIG.merge_ask_ns + CONFIG.merge_ns)


# ---- being left behind


def test_an_exclusion_comes_before_the_merge_that_was_found_with_it() -> None:
    """B and C have gone on without A; the exclusion may end A's place, and with it the merge that A would lead."""
    finder = neighbour()
    made = MergeDetector(A, CONFIG, Random(1), finder)
    made.on_view(0, view("ABC/5"))
    hear(made, 0, B, "BC/6")
    carried_out(made.on_time(100 * MS))
    finder.made.clear()
    out = made.on_view_answer(101 * MS, B, view("BC/6"))
    assert [call[0] for call in finder.made] == ["left_behind"]
    carried_out(out)
    assert [call[0] for call in finder.made] == ["left_behind", "raise_merge"]


def test_a_member_whose_coordinator_goes_on_without_it_learns_it() -> None:
    made = detector(C, "ABC/5")
    hear(made, 0, A, "AB/6")
    assert reading(made) == [send_once(A, AskView())]
    assert ("left_behind", view("AB/6")) in made.on_view_answer(101 * MS, A, view("AB/6"))


def test_a_member_whose_coordinator_died_learns_that_the_next_one_goes_on_without_it() -> None:
    """Simulated seed 979: A is dead and in no view. D asked E, who stood next, and refused it because B lived."""
    made = detector(D, "ABEDC/5", suspected=[A])
    assert hear(made, 0, B, "BC/6") == [("announce_to", ("B:1",))]
    assert reading(made) == [send_once(B, AskView())]
    assert ("left_behind", view("BC/6")) in made.on_view_answer(101 * MS, B, view("BC/6"))


def test_a_coordinator_is_left_behind_only_by_everybody() -> None:
    alone = detector(A, "ABC/5")
    hear(alone, 0, B, "BC/6")
    reading(alone)
    out = alone.on_view_answer(101 * MS, B, view("BC/6"))
    assert ("left_behind", view("BC/6")) in out
    with_c = detector(A, "ABC/5")
    hear(with_c, 0, B, "B/6")
    reading(with_c)
    out = with_c.on_view_answer(101 * MS, B, view("B/6"))
    assert not any(d[0] == "left_behind" for d in out)
    assert raised(out) == ["AC", "B"]


def test_an_answer_nobody_asked_for_changes_nothing() -> None:
    made = detector(A, "A/5")
    assert made.on_view_answer(0, B, view("B/5")) == []
    hear(made, 0, B, "B/5")
    reading(made)
    assert made.on_view_answer(101 * MS, C, view("C/5")) == []
    assert made.on_view_answer(101 * MS, B, view("C/5")) == []  # It must be in its own view.


# ---- announcing


def test_lost_members_and_found_places_are_told_our_view_in_turn() -> None:
    made = detector_of(A, Config(announce_peers=2))
    made.on_view(0, view("ABCD/5"))
    made.on_view(1, view("AB/6"))
    made.on_found(["E:1", "A:1"])
    told = []
    for _ in range(3):
        due = made.deadlines.first_ns
        assert due is not None
        told += [d[1] for d in made.on_time(due) if d[0] == "announce_to"]
    assert told == [("C:1", "D:1"), ("E:1", "C:1"), ("D:1", "E:1")]


def test_who_left_of_its_own_accord_is_not_called_back() -> None:
    made = detector(A, "ABC/5")
    made.on_view(1, view("A/6"), left=[B])
    assert made.outsiders.next_in_turn(9, ()) == ("C:1",)


def test_the_steps_of_announcing_are_random_but_bounded() -> None:
    config = Config()
    made = detector_of(A, config)
    made.on_view(0, view("A/1"))
    steps, now = [], 0
    for _ in range(20):
        due = made.deadlines.first_ns
        assert due is not None
        steps.append(due - now)
        now = due
        made.on_time(now)
    assert len(set(steps)) > 10
    assert all(0.75 * config.announce_ns <= step <= 1.25 * config.announce_ns for step in steps[1:])


def test_outsiders_are_bounded_and_skip_who_is_inside() -> None:
    known = Outsiders(2)
    for endpoint in ("a", "b", "c"):
        known.remember(endpoint)
    assert len(known) == 2
    assert known.next_in_turn(9, {"b"}) == ("c",)


def test_without_an_idle_leader_its_members_are_in_no_other_party() -> None:
    """`D: ABD` has not noticed that A and B went on; who goes on without A's side does not ask D for A and B."""
    made = detector(C, "C/3")
    hear(made, 0, A, "AB/9")
    made.on_announcement(0, D, view("ABD/7").id, D)
    assert reading(made) == [send_once(A, AskView())]
    assert made.on_view_answer(101 * MS, A, view("AB/9"), A) == [("announce_to", (A.endpoint,))]
    later = 900 * SECOND  # A was told for longer than two merges take, and does nothing.
    made.on_time(later)
    made.on_view_answer(later, A, view("AB/9"), A)
    assert raised(made.on_view_answer(later, D, view("ABD/7"), D)) == ["C", "D"]


def test_of_two_members_that_lag_in_one_old_view_both_are_told_of() -> None:
    """Only the first was: the second had the same view, and members are brought up one by one."""
    made = detector(E, "ABCDE/6")
    for peer in (C, D):
        hear(made, 0, peer, "ABCDE/5")
    told = [step for peer in (C, D) for step in hear(made, 1 * SECOND, peer, "ABCDE/5")]
    assert told == [SendReliable(A, Sighted(peer, ViewId(5, A), A)) for peer in (C, D)]
