"""The states of the sides of a merge, at the merger and at a member: which parts count, and when the end does."""

from __future__ import annotations

from dataclasses import replace

from ringcast.core.control import NewView, Reunion, RollCallId, Side, Standing, Transfer
from ringcast.core.deadlines import Deadlines
from ringcast.core.effects import AwaitMerged, AwaitState, Effect, GiveMerged, MergedOver, MergeStates, SideOver
from ringcast.core.state.chunks import StateChunks
from ringcast.core.state.merging import StateMerging
from ringcast.core.state.providers import PendingStates
from ringcast.model import Address, Entry, Event, ViewId, profile

A, B, C, D = (Address(name, 1, f"mem:{name}") for name in "ABCD")
V, W = ViewId(7, A), ViewId(8, A)
SIDES = (Side(A, (A, B)), Side(C, (C, D)))
REUNION = Reunion(V, V, A, SIDES, (A, B, C, D))


def merge_view(reunion: Reunion) -> NewView:
    return replace(view(reunion.view), subgroups=((A, B), (C, D)), reunion=reunion)


def view(number: ViewId, *transfers: Transfer) -> NewView:
    call, entries = RollCallId(ViewId(6, A), 0, 1), (Entry(0, 0, 0),) * 4
    return NewView(call, number, (A, B, C, D), (), (), 64, 1000, entries, (0, 0), transfers=transfers)


class Member:
    """`is_held`: a roll call holds it."""

    def __init__(self, me: Address, reunion: Reunion = REUNION) -> None:
        self.is_held = False
        self.deadlines = Deadlines()
        self.merging = StateMerging(me, profile("test"), True, lambda: self.is_held, self.deadlines)
        self.began = said(self.merging.on_view(0, merge_view(reunion))[0])


def said(effects: list[Effect]) -> list[Effect]:
    return [effect for effect in effects if not isinstance(effect, Event)]


def test_each_has_its_part() -> None:
    assert Member(A).began == [MergeStates(V, SIDES)]
    assert Member(C).began == [AwaitMerged(V, V, A, True)]
    assert Member(D).began == [AwaitMerged(V, V, A, False)]


def test_the_merger_takes_the_parts_of_this_merge_from_the_givers_only() -> None:
    merging = Member(A).merging
    assert merging.awaits_side(C, V.number)
    assert not merging.awaits_side(D, V.number)  # It gives no side.
    assert not merging.awaits_side(C, V.number - 1)  # Of an earlier merge.
    assert not Member(B).merging.awaits_side(C, V.number)


def test_a_side_that_is_whole_takes_no_more_parts() -> None:
    merging = Member(A).merging
    assert said(merging.on_side_over(1, C, None)) == [SideOver(C)]
    assert not merging.awaits_side(C, V.number)


def test_a_side_that_begins_anew_is_awaited_again() -> None:
    merging = Member(A).merging
    merging.on_side_over(1, C, None)
    merging.on_view(2, merge_view(REUNION._replace(view=W)))
    assert merging.awaits_side(C, W.number) and not merging.awaits_side(C, V.number)


def test_a_side_that_could_not_be_given_keeps_the_states_apart() -> None:
    merging = Member(A).merging
    why = f"{C} could not give the state of its side: no disk"
    assert said(merging.on_side_over(1, C, "no disk")) == [MergedOver(why)]
    assert merging.reunion is None and not merging.standing.lacks


def test_a_merged_state_counts_when_no_roll_call_holds() -> None:
    """Else a view would replace the merger although somebody already has the merged state."""
    for me, effect in ((A, GiveMerged((B, C, D), V)), (C, MergedOver(None))):
        member = Member(me)
        member.is_held = True
        ended = member.merging.on_states_merged(1) if me == A else member.merging.on_end(1, None)
        assert said(ended) == [] and member.merging.standing.reunited is None
        member.is_held = False
        assert said(member.merging.on_free(2)) == [effect] and member.merging.standing.reunited == V


def test_a_joiner_takes_parts_of_its_provider_cut_at_its_view_only() -> None:
    merging = StateMerging(D, profile("test"), False, lambda: False, Deadlines())
    chunks = StateChunks(D, profile("test"), 1000, merging, lambda: None)
    chunks.wants, chunks.getting = True, Transfer(D, B, V)
    assert chunks._is_awaited(False, B, V.number)
    assert not chunks._is_awaited(False, C, V.number)
    assert not chunks._is_awaited(False, B, V.number - 1)  # It gave its state before, at an earlier view.
    assert not chunks._is_awaited(True, B, V.number)  # Of a side: we merge nothing.


def provider(*transfers: Transfer) -> StateChunks:
    """A, after views that named it the provider in these transfers."""
    merging = StateMerging(A, profile("test"), False, lambda: False, Deadlines())
    chunks = StateChunks(A, profile("test"), 1000, merging, lambda: None)
    for transfer in transfers:
        chunks.on_view(0, view(transfer.view, transfer))
    return chunks


def test_a_transfer_that_a_later_view_replaced_gives_nothing_more() -> None:
    """Seed 231309: the rest of a merged state went out as the beginning of the one that the next view named."""
    chunks = provider(Transfer(D, A, V), Transfer(D, A, W))
    assert not chunks.may_give(D, V, 10) and chunks.may_give(D, W, 10)
    assert chunks.end(1, D, V) == [] and chunks.giving[D].view == W


def test_an_end_that_found_no_room_does_not_end_the_transfer_that_replaced_it() -> None:
    chunks = provider(Transfer(D, A, V))
    while chunks.may_give(D, V, 200):
        chunks.give(1, D, bytes(200))
    assert chunks.end(1, D, V) == [] and D in chunks.ends
    chunks.on_view(2, view(W, Transfer(D, A, W)))
    assert not chunks.ends and chunks.giving[D].view == W


def test_a_join_that_a_merge_came_before_is_not_taken_for_a_gift_of_the_merged_state() -> None:
    """Seed 231309: whoever has the merged state gives it already; the next view names nobody else."""
    pending = PendingStates(reunites=True)
    earlier = Transfer(D, C, ViewId(5, C))
    pending.on_view(replace(merge_view(REUNION), transfers=(earlier,)))
    standings = {A: Standing(False, V), D: Standing(True, None)}
    named, reunion = pending.assign(W, [A, D], (), [], standings)
    assert named == (Transfer(D, A, V),) and reunion is not None and reunion.lacking == (D,)


def test_a_failure_between_the_answer_and_the_view_counts_with_the_view_which_was_made_without_it() -> None:
    """The view still names it among those who lack the state: without another word all would wait for it for ever."""
    member = Member(D)
    member.is_held = True
    assert said(member.merging.fail(1, "no word")) == [] and member.merging.standing.lacks
    member.is_held = False
    lacking = replace(view(W), reunion=REUNION._replace(lacking=(D,)))
    effects, provider = member.merging.on_view(2, lacking)
    assert said(effects) == [MergedOver("no word")] and provider is None and not member.merging.standing.lacks


def test_a_failure_between_the_answer_and_the_cancel_counts_with_the_cancel() -> None:
    member = Member(D)
    member.is_held = True
    assert said(member.merging.fail(1, "no word")) == []
    member.is_held = False
    assert said(member.merging.on_free(2)) == [MergedOver("no word")]


def test_a_failure_before_a_view_that_names_another_giver_is_forgotten() -> None:
    member = Member(D)
    member.is_held = True
    member.merging.fail(1, "no word")
    member.is_held = False
    again = replace(view(W, Transfer(D, B, W)), reunion=REUNION._replace(lacking=(D,)))
    effects, provider = member.merging.on_view(2, again)
    assert said(effects) == [AwaitState(B, W)] and provider == Transfer(D, B, W)
    assert said(member.merging.on_end(3, None)) == [MergedOver(None)]


def test_an_end_that_waits_needs_no_patience() -> None:
    """All of it is here when the patience runs out: the timer that stayed due let the member spin until the view."""
    member = Member(A)
    due_ns = member.deadlines.first_ns
    assert due_ns is not None
    member.is_held = True
    assert said(member.merging.on_states_merged(due_ns - 1)) == []
    assert said(member.merging.on_time(due_ns)) == [] and member.deadlines.first_ns is None
    member.is_held = False
    assert said(member.merging.on_free(due_ns + 1)) == [GiveMerged((B, C, D), V)]
