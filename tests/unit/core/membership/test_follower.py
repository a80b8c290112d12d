"""A member's side of roll calls: one promise at a time, exact cuts, and refusals with an answer (G5, V18)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from ringcast.core.control import (
    NO_STATE,
    NOTHING_TO_SETTLE,
    Answer,
    Ask,
    Behind,
    Cancel,
    Carried,
    Fill,
    Filled,
    Holding,
    MergeId,
    NewView,
    Refusal,
    RollCallId,
    ViewAck,
    ViewRefusal,
)
from ringcast.core.effects import KeepMark, SendReliable
from ringcast.core.membership.follower import Follower
from ringcast.core.membership.primary_record import PrimaryRecord
from ringcast.core.membership.suspicions import Suspicions
from ringcast.core.steps import Steps, Until
from ringcast.model import Address, Electorate, Entry, Event, View, ViewId, first_mark, profile
from unit.core.calls import neighbour

A, B, C, D = (Address(name, 1, f"mem:{name}") for name in "ABCD")
V = View(ViewId(4, A), (A, B, C))
CONFIG = profile("test")


@dataclass
class FakeStreams:
    """How far each stream has come, as plain numbers."""

    marks: dict[Address, int] = field(default_factory=lambda: {A: 5, B: 7, C: 9})
    is_filled: bool = False

    def entry(self) -> Entry:
        return Entry(0, self.marks[C], self.marks[C])

    def holding(self, origin: Address) -> Holding:
        return Holding(origin, 0, self.marks[origin])

    def delivered(self, origin: Address) -> int:
        return self.marks.get(origin, 0)

    def carried(self, going: tuple[Address, ...]) -> tuple[Carried, ...]:
        return ()


class Member:
    """C, in view V."""

    def __init__(self, primacy: PrimaryRecord | None = None) -> None:
        self.streams = FakeStreams()
        self.suspicions = Suspicions(C)
        # The other components of this member; it is in no other merge.
        self.others = neighbour(standing=NO_STATE, enter_merge=None)
        ports = (self.streams, self.others, primacy or PrimaryRecord(C, None))
        self.follower = Follower(C, CONFIG, V, *ports, lambda x: self.suspicions.may_coordinate(V, x))

    def ask(self, asker: Address, attempt: int = 1, going: tuple[Address, ...] = ()) -> list[Any]:
        return orders(self.follower.on_ask(0, asker, Ask(RollCallId(V.id, V.rank(asker), attempt), going, ())))

    @property
    def holds(self) -> list[Any]:
        return [made for made in self.others.made if made[0] == "hold"]


def orders(steps: Steps) -> list[Any]:
    return [step for step in steps if not isinstance(step, Event)]


def message(roll_call: RollCallId, view: View, cuts: tuple[int, ...]) -> NewView:
    entries = tuple(Entry(0, 0, 0) for _ in view.members)
    return NewView(roll_call, view.id, view.members, (), (), 64, 1_000, entries, cuts)


FIRST = RollCallId(V.id, 0, 1)
W = View(ViewId(5, A), (A, B, C, D))


def test_the_coordinator_is_answered_and_sends_are_held() -> None:
    answer = Answer(FIRST, Entry(0, 9, 9), (), 4, CONFIG.capacity, CONFIG.window_bytes)
    member = Member()
    assert member.ask(A) == [SendReliable(A, answer)]
    assert member.holds == [("hold", ())]


def test_another_is_refused_at_once_while_the_coordinator_is_trusted() -> None:
    member = Member()
    (refused,) = member.ask(B)
    assert refused == SendReliable(B, Refusal(RollCallId(V.id, 1, 1), "B#1 does not lead here"))
    assert member.holds == []


def test_another_is_answered_when_all_before_it_are_suspected() -> None:
    member = Member()
    member.suspicions.add(A, "silent", Until.HEARD)
    (said,) = member.ask(B, going=(A,))
    assert member.holds == [("hold", (A,))]
    assert said.message.holdings == (Holding(A, 0, 5),)


def test_a_roll_call_of_a_merge_is_answered_unless_this_member_is_in_another_one() -> None:
    member, ask = Member(), Ask(FIRST, (), (), MergeId(A, 7))
    (answered,) = orders(member.follower.on_ask(0, A, ask))
    assert isinstance(answered.message, Answer)
    assert ("enter_merge", MergeId(A, 7)) in member.others.made
    busy = Member()
    busy.others.answers["enter_merge"] = "C#1 is in merge B#1~2"
    assert orders(busy.follower.on_ask(0, A, ask)) == [SendReliable(A, Refusal(FIRST, "C#1 is in merge B#1~2"))]
    assert busy.holds == []


def test_a_merge_is_entered_only_for_a_coordinator_that_is_answered() -> None:
    member = Member()
    member.follower.on_ask(0, D, Ask(FIRST, (), (), MergeId(A, 7)))
    assert member.others.made == []


def test_a_greater_id_replaces_a_promise_and_a_smaller_one_is_refused() -> None:
    member = Member()
    member.ask(A, attempt=2)
    (refused,) = member.ask(A, attempt=1)
    assert isinstance(refused, SendReliable) and isinstance(refused.message, Refusal)
    (answered,) = member.ask(A, attempt=3)
    assert isinstance(answered.message, Answer)
    assert len(member.holds) == 2


def test_an_asker_in_an_earlier_view_is_given_ours_or_left_to_merge() -> None:
    member = Member()
    member.follower.known = message(FIRST, V, ())
    old = RollCallId(ViewId(3, A), 0, 1)
    assert orders(member.follower.on_ask(0, A, Ask(old, (), ()))) == [SendReliable(A, member.follower.known)]
    (refused,) = orders(member.follower.on_ask(0, D, Ask(old, (), ())))
    assert refused == SendReliable(D, Refusal(old, f"already in {V.id}", gone=True))


def test_an_asker_in_a_later_view_learns_that_we_are_behind() -> None:
    later = RollCallId(ViewId(6, B), 0, 1)
    assert Member().follower.on_ask(0, B, Ask(later, (), ())) == [SendReliable(B, Behind(later, V.id))]


def test_a_fill_below_what_was_delivered_is_refused() -> None:
    member = Member()
    member.ask(A)
    (refused,) = orders(member.follower.on_fill(0, A, Fill(FIRST, (5, 6, 9), ())))
    assert refused == SendReliable(A, Refusal(FIRST, "already beyond the cut"))


def test_filled_is_said_once_when_the_streams_are_at_the_cut() -> None:
    member = Member()
    member.ask(A)
    filling: list[Any] = member.follower.on_fill(0, A, Fill(FIRST, (6, 7, 9), ()))
    assert filling == [("fill", {A: 6, B: 7, C: 9}, (), NOTHING_TO_SETTLE)]
    assert member.follower.on_progress() == []
    member.streams.is_filled = True
    assert member.follower.on_progress() == [SendReliable(A, Filled(FIRST))]
    assert member.follower.on_progress() == []


def test_a_voter_says_that_it_has_filled_up_when_the_primary_view_is_recorded_g17() -> None:
    mark = first_mark(C, 3)
    primacy = PrimaryRecord(C, mark, is_kept=True)
    member = Member(primacy)
    member.ask(A)
    primary = mark.proposal(W.id, [A, B, C])
    assert isinstance(primary, Electorate)
    keep, fill = member.follower.on_fill(0, A, Fill(FIRST, (6, 7, 9), (), primary=primary))
    assert (type(keep), fill[0]) == (KeepMark, "fill")  # type: ignore[index]
    member.streams.is_filled = True
    assert member.follower.on_progress() == []
    assert primacy.on_kept(0, 1) == []
    assert member.follower.on_progress() == [SendReliable(A, Filled(FIRST))]


def test_the_view_of_the_promise_is_installed_and_acked() -> None:
    member = Member()
    member.ask(A)
    view = message(FIRST, W, (5, 7, 9))
    taken: list[Any] = member.follower.on_view(0, A, view)
    assert taken == [("install", view), SendReliable(A, ViewAck(W.id))]


def test_a_view_with_a_newcomer_that_was_a_member_before_is_refused() -> None:
    """Simulated seed 7080: the coordinator came by a merge, and took an old JOIN of D for a new process's."""
    member = Member()
    member.ask(A)
    member.streams.marks[D] = 27
    view = message(FIRST, W, (5, 7, 9))
    why = "it would set the stream of D#1 back"
    assert orders(member.follower.on_view(0, A, view)) == [SendReliable(A, ViewRefusal(W.id, why))]


def test_a_view_without_a_promise_or_beside_the_cut_is_refused_with_an_answer() -> None:
    member = Member()
    view = message(FIRST, W, (5, 7, 9))
    assert orders(member.follower.on_view(0, A, view)) == [SendReliable(A, ViewRefusal(W.id, "nothing was promised"))]
    member.ask(A)
    beside = replace(view, cuts=(5, 8, 9))
    assert orders(member.follower.on_view(0, A, beside)) == [
        SendReliable(A, ViewRefusal(W.id, "not at its cut of B#1"))
    ]


def test_a_view_of_another_promise_is_refused_unless_the_present_asker_brings_it() -> None:
    member = Member()
    member.ask(A)
    member.suspicions.add(A, "silent", Until.HEARD)
    member.ask(B, going=(A,))
    view = message(FIRST, W, (5, 7, 9))
    (refused,) = orders(member.follower.on_view(0, A, view))
    assert isinstance(refused, SendReliable) and isinstance(refused.message, ViewRefusal)
    taken: list[Any] = member.follower.on_view(0, B, view)
    assert taken[0] == ("install", view)


def test_old_views_and_views_without_us_are_discarded_v18() -> None:
    """V18: an id not greater, or a view without this member, changes nothing; our own view is acked again."""
    member = Member()
    member.ask(A)
    assert member.follower.on_view(0, A, message(FIRST, View(ViewId(3, D), (A, C)), ())) == []
    assert member.follower.on_view(0, A, message(FIRST, View(ViewId(9, A), (A, B)), ())) == []
    assert member.follower.on_view(0, A, message(FIRST, V, ())) == [SendReliable(A, ViewAck(V.id))]


def test_a_cancel_releases_and_ends_the_promise_for_good() -> None:
    member = Member()
    member.ask(A)
    assert orders(member.follower.on_cancel(0, B, Cancel(FIRST))) == []
    assert orders(member.follower.on_cancel(0, A, Cancel(FIRST))) == [("release",)]
    (refused,) = orders(member.follower.on_view(0, A, message(FIRST, W, (5, 7, 9))))
    assert refused == SendReliable(A, ViewRefusal(W.id, "nothing was promised"))


def test_a_promise_that_nobody_ends_ends_itself() -> None:
    member = Member()
    member.ask(A)
    due = member.follower.deadlines.first_ns
    assert due == CONFIG.resumer_ns
    assert orders(member.follower.on_time(due - 1)) == []
    assert orders(member.follower.on_time(due)) == [("release",)]


def test_y21_a_stranger_raises_no_number() -> None:
    """What a stranger names, in a question or in a view, is answered or refused, and nothing of it stays."""
    member, stranger = Member(), Address("S", 1, "s")
    far = ViewId(2**40, stranger)
    member.follower.on_ask(0, stranger, Ask(RollCallId(far, 0, 1), (), ()))
    member.follower.on_view(0, stranger, message(RollCallId(far, 0, 1), View(far, (stranger, C)), ()))
    assert member.follower.numbers.highest == V.id.number
