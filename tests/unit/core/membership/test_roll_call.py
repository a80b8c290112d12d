"""The coordinator's side of a roll call, step by step."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ringcast.core import Drop
from ringcast.core.control import (
    Answer,
    Ask,
    Behind,
    Cancel,
    Fill,
    Filled,
    Holding,
    MergeId,
    NewView,
    Refusal,
    RollCallId,
    Standing,
    Transfer,
)
from ringcast.core.effects import Lost, SendReliable
from ringcast.core.membership.roll_call import Complete, Digested, RollCall
from ringcast.core.steps import Steps
from ringcast.model import MS, Address, Electorate, Entry, Event, Mark, View, ViewId, ViewNumbers, profile
from unit.core.calls import carried_out, neighbour

A, B, C, D = (Address(name, 1, f"mem:{name}") for name in "ABCD")
V = View(ViewId(4, A), (A, B, C))
CONFIG = profile("test")
FIRST, SECOND = RollCallId(V.id, 0, 1), RollCallId(V.id, 0, 2)


def orders(steps: Steps) -> list[Any]:
    return [step for step in carried_out(steps) if not isinstance(step, Event)]


def roll_call_of(attempt: int, **options: Any) -> RollCall:
    """A's roll call on V; what its coordinator would be told stands in the lists that it returns."""
    return RollCall(A, CONFIG, V, attempt, neighbour(), **options)


def suspects(steps: Steps) -> list[Address]:
    return [step[1] for step in orders(steps) if step[0] == "suspect"]


def has_failed(steps: Steps) -> bool:
    return any(step[0] == "on_failed" for step in orders(steps))


def answer(roll_call: RollCallId, high: int, *holdings: Holding, capacity: int = 64, number: int = 4) -> Answer:
    return Answer(roll_call, Entry(0, high, high), holdings, number, capacity, 1_000)


def asked(roll_call: RollCall) -> None:
    roll_call.begin(0)


def test_everybody_is_asked_ourselves_last() -> None:
    question = Ask(FIRST, (), ())
    assert orders(roll_call_of(1).begin(0)) == [
        SendReliable(B, question),
        SendReliable(C, question),
        SendReliable(A, question),
    ]


def test_when_all_have_answered_all_fill_and_when_all_are_filled_it_is_complete() -> None:
    roll_call = roll_call_of(1)
    asked(roll_call)
    assert roll_call.on_answer(0, A, answer(FIRST, 10)) == []
    assert roll_call.on_answer(0, B, answer(FIRST, 20, number=7)) == []
    filling = orders(roll_call.on_answer(0, C, answer(FIRST, 30, capacity=8)))
    assert [(s.to, s.message.cuts) for s in filling if isinstance(s, SendReliable) and isinstance(s.message, Fill)] == [
        (B, (10, 20, 30)),
        (C, (10, 20, 30)),
        (A, (10, 20, 30)),
    ]
    assert roll_call.on_filled(0, A, Filled(FIRST)) == roll_call.on_filled(0, B, Filled(FIRST)) == []
    ((call, complete),) = orders(roll_call.on_filled(0, C, Filled(FIRST)))
    assert call == "on_complete" and isinstance(complete, Complete)
    assert (complete.cuts, complete.number, complete.capacity) == ((10, 20, 30), 7, 8)


def test_a_leaver_answers_but_need_not_fill() -> None:
    roll_call = roll_call_of(1, leaving=(B,))
    asked(roll_call)
    for member, high in ((A, 1), (B, 2), (C, 3)):
        steps = orders(roll_call.on_answer(0, member, answer(FIRST, high)))
    assert [step.to for step in steps if isinstance(step, SendReliable)] == [C, A]
    roll_call.on_filled(0, A, Filled(FIRST))
    ((call, complete),) = orders(roll_call.on_filled(0, C, Filled(FIRST)))
    assert (call, complete.cuts) == ("on_complete", (1, 2, 3))


def test_a_member_that_drops_out_goes_among_the_going_away_and_no_old_answer_counts() -> None:
    roll_call = roll_call_of(1)
    asked(roll_call)
    roll_call.on_answer(0, A, answer(FIRST, 1))
    question = Ask(SECOND, (C,), ())
    assert orders(roll_call.on_suspect(0, C)) == [SendReliable(B, question), SendReliable(A, question)]
    assert roll_call.on_answer(0, B, answer(FIRST, 1)) == []
    assert roll_call.awaited == [B, A]
    roll_call.on_answer(0, A, answer(SECOND, 1, Holding(C, 0, 8)))
    filling = orders(roll_call.on_answer(0, B, answer(SECOND, 2, Holding(C, 0, 9))))
    assert (
        isinstance(filling[0], SendReliable)
        and isinstance(filling[0].message, Fill)
        and filling[0].message.cuts == (1, 2, 9)
    )


def test_an_answer_that_leaves_out_a_going_away_member_is_dropped() -> None:
    roll_call = roll_call_of(1, going=(C,))
    asked(roll_call)
    (dropped,) = roll_call.on_answer(0, B, answer(FIRST, 1))
    assert isinstance(dropped, Drop) and roll_call.awaited == [B, A]


def test_who_is_silent_twice_is_suspected() -> None:
    roll_call = roll_call_of(1)
    asked(roll_call)
    roll_call.on_answer(0, A, answer(FIRST, 1))
    roll_call.on_answer(0, B, answer(FIRST, 1))
    again = orders(roll_call.on_time(roll_call.timer.at_ns or 0))
    assert all(isinstance(step, SendReliable) and step.message == Ask(SECOND, (), ()) for step in again)
    roll_call.on_answer(0, A, answer(SECOND, 1))
    roll_call.on_answer(0, B, answer(SECOND, 1))
    suspect, *rest = orders(roll_call.on_time(roll_call.timer.at_ns or 0))
    assert suspect == ("suspect", C, f"silent in 2 attempts of roll call {SECOND}")
    assert all(
        isinstance(step, SendReliable) and step.message == Ask(SECOND._replace(attempt=3), (C,), ()) for step in rest
    )


def test_only_who_is_silent_twice_in_a_row_is_suspected() -> None:
    """C is late with its first answer, gives the next one, and is late to fill up: others' attempts cost it nothing."""
    roll_call = roll_call_of(1)
    asked(roll_call)
    found = []
    for answering, filling in ((2, 0), (3, 2), (2, 0), (3, 2)):
        for member in (A, B, C)[:answering]:
            roll_call.on_answer(0, member, answer(roll_call.id, 1))
        for member in (A, B, C)[:filling]:
            roll_call.on_filled(0, member, Filled(roll_call.id))
        found.append(suspects(roll_call.on_time(roll_call.timer.at_ns or 0)))
    assert found == [[], [], [], [C]]


def test_two_that_are_late_by_turns_are_suspected_when_the_roll_call_fails() -> None:
    """Neither is silent twice in a row: without it no view would ever be made. The last attempt, cut short by the limit
    of them all, is held against nobody."""
    roll_call = roll_call_of(1)
    asked(roll_call)
    steps: Steps = []
    late, missed = B, {B: 0, C: 0}
    while not has_failed(steps):
        now_ns = roll_call.timer.at_ns or 0
        for member in (A, B, C):
            if member != late:
                roll_call.on_answer(now_ns, member, answer(roll_call.id, 1))
        assert suspects(steps) == []
        missed[late] += now_ns < CONFIG.view_change_ns
        steps = roll_call.on_time(now_ns)
        late = C if late == B else B
    assert suspects(steps) == [B, C] and min(missed.values()) >= 2


def test_one_silence_and_an_attempt_that_was_cut_short_are_no_two_silences() -> None:
    roll_call = roll_call_of(1)
    asked(roll_call)
    until_ns = CONFIG.view_change_ns
    roll_call.on_refusal(until_ns - CONFIG.roll_call_ns, B, Refusal(roll_call.id, "already beyond the cut"))
    for member in (A, B):
        roll_call.on_answer(0, member, answer(roll_call.id, 1))
    assert roll_call.again(until_ns - CONFIG.roll_call_ns) and roll_call.timer.at_ns is not None
    roll_call.on_time(roll_call.timer.at_ns)
    steps = roll_call.on_time(roll_call.timer.at_ns or 0)
    assert suspects(steps) == []
    assert has_failed(steps)


def test_however_often_it_begins_again_it_ends_before_the_view_would_meet_the_resumer() -> None:
    """B cannot fill up to any cut: each attempt is void at once, and the next one begins."""
    roll_call = roll_call_of(1)
    asked(roll_call)
    steps: list[Any] = []
    for now_ns in range(0, CONFIG.resumer_ns, CONFIG.fill_ns // 2):
        for member in (A, B, C):
            roll_call.on_answer(now_ns, member, answer(roll_call.id, 1))
        assert roll_call.timer.at_ns is not None and roll_call.timer.at_ns <= CONFIG.view_change_ns
        steps = orders(roll_call.on_refusal(now_ns, B, Refusal(roll_call.id, "already beyond the cut")))
        if not any(isinstance(step, SendReliable) for step in steps):
            break
    assert steps == [("on_failed", roll_call.id, f"roll call {roll_call.id} is not complete within 1.5 s")]
    assert now_ns == CONFIG.view_change_ns and roll_call.timer.at_ns is None
    assert now_ns + CONFIG.view_limit_ns <= CONFIG.resumer_ns


def test_a_coordinator_that_slept_past_the_limit_makes_no_view_of_late_answers() -> None:
    roll_call = roll_call_of(1)
    asked(roll_call)
    for member in (A, B, C):
        roll_call.on_answer(0, member, answer(FIRST, 1))
    for member in (A, B):
        roll_call.on_filled(0, member, Filled(FIRST))
    (failed,) = orders(roll_call.on_filled(CONFIG.view_change_ns, C, Filled(FIRST)))
    assert failed == ("on_failed", FIRST, f"roll call {FIRST} is not complete within 1.5 s")


def test_a_refusal_ends_it_and_one_from_a_later_view_leaves_that_member_to_merge() -> None:
    roll_call = roll_call_of(1)
    asked(roll_call)
    assert orders(roll_call.on_refusal(0, B, Refusal(FIRST, "no"))) == [("on_failed", FIRST, "B#1 refuses: no")]
    suspect, *rest = orders(roll_call.on_refusal(0, C, Refusal(FIRST, "gone", gone=True)))
    assert suspect == ("suspect", C, "gone")
    assert [step.to for step in rest if isinstance(step, SendReliable)] == [B, A]


def test_a_member_behind_is_given_the_base_view_first() -> None:
    roll_call = roll_call_of(1, known="the base view")  # type: ignore[arg-type]
    asked(roll_call)
    steps = roll_call.on_behind(C, Behind(FIRST, ViewId(3, A)))
    assert [step.message for step in steps if isinstance(step, SendReliable)] == ["the base view", Ask(FIRST, (), ())]


def test_who_was_on_another_side_of_the_merge_is_brought_the_view_by_its_own_coordinator() -> None:
    merged = View(V.id, V.members, subgroups=((A, B), (C,)))
    known = NewView(FIRST, V.id, V.members, (), merged.subgroups, 64, 1_000, (Entry(0, 0, 0),) * 3, (0, 0))
    roll_call = RollCall(A, CONFIG, merged, 1, neighbour(), known=known)
    asked(roll_call)
    assert orders(roll_call.on_behind(B, Behind(FIRST, ViewId(3, B)))) == [
        SendReliable(B, known),
        SendReliable(B, Ask(FIRST, (), ())),
    ]
    assert roll_call.on_behind(C, Behind(FIRST, ViewId(3, C))) == []


def test_the_end_without_a_view_cancels_all_who_were_ever_asked() -> None:
    roll_call = roll_call_of(1)
    asked(roll_call)
    roll_call.on_suspect(0, C)
    cancels = orders(roll_call.cancel(0))
    assert cancels == [SendReliable(member, Cancel(SECOND)) for member in (B, C, A)]


def test_the_roll_call_of_a_merge_is_not_repeated_but_tells_who_is_there() -> None:
    merge_id = MergeId(A, 1)
    roll_call = roll_call_of(1, merge_id=merge_id)
    asked(roll_call)
    roll_call.on_answer(0, A, answer(FIRST, 1))
    roll_call.on_answer(0, B, answer(FIRST, 2))
    ((call, outcome),) = orders(roll_call.on_suspect(0, C))
    assert call == "on_digested" and isinstance(outcome, Digested)
    assert outcome.entries == {A: Entry(0, 1, 1), B: Entry(0, 2, 2)}


def test_the_roll_call_of_a_merge_tells_who_has_not_loaded_its_state() -> None:
    merge_id = MergeId(A, 1)
    roll_call = roll_call_of(1, merge_id=merge_id)
    asked(roll_call)
    roll_call.on_answer(0, A, answer(FIRST, 1))
    loading = Standing(joining=Transfer(B, C, V.id), is_whole=True)
    roll_call.on_answer(0, B, replace(answer(FIRST, 2), standing=loading))
    assert roll_call.digested(merge_id).stateless == (B,)


def test_one_refusal_in_the_roll_call_of_a_merge_is_blamed_on_who_refuses_y15() -> None:
    """The others could not answer yet: they are not to blame."""
    roll_call = roll_call_of(1, merge_id=MergeId(A, 1))
    asked(roll_call)
    ((call, digested),) = orders(roll_call.on_refusal(0, B, Refusal(FIRST, "no")))
    assert (call, digested.blamed) == ("on_digested", (B,))


def test_a_suspicion_in_the_roll_call_of_a_merge_is_blamed_on_the_suspect_y15() -> None:
    roll_call = roll_call_of(1, merge_id=MergeId(A, 1))
    asked(roll_call)
    ((call, digested),) = orders(roll_call.on_suspect(0, C))
    assert (call, digested.blamed) == ("on_digested", (C,))


def test_who_is_silent_until_the_limit_of_a_merge_is_to_blame_y15() -> None:
    roll_call = roll_call_of(1, merge_id=MergeId(A, 1))
    asked(roll_call)
    roll_call.on_answer(0, A, answer(FIRST, 1))
    ((call, digested),) = orders(roll_call.on_time(roll_call.timer.at_ns or 0))
    assert call == "on_digested"
    assert (digested.blamed, list(digested.entries)) == ((), [A])


# ---- mark files


MARK = Mark(Electorate(V.id, (A, B, C)))
FILL_NS, RESUMER_NS = CONFIG.fill_ns, CONFIG.resumer_ns


def marked(roll_call: RollCallId, *, disk_ns: int = 0, storing_ns: int = 0, number: int = 4) -> Answer:
    return replace(answer(roll_call, 1, number=number), mark=MARK, disk_ns=disk_ns, storing_ns=storing_ns)


def filling(roll_call: RollCall, now_ns: int, **slow: Answer) -> Electorate | None:
    """All answer the present attempt; the primary view that they are to record."""
    steps: Steps = []
    for member in (B, C, A):
        steps = roll_call.on_answer(now_ns, member, slow.get(member.name, marked(roll_call.id)))
    fills = [step.message for step in steps if isinstance(step, SendReliable) and isinstance(step.message, Fill)]
    assert len(fills) == 3
    return fills[0].primary


def test_the_limit_to_fill_up_follows_the_slowest_disk_between_a_floor_and_a_ceiling() -> None:
    for disk_ms, limit_ms in ((0, 200), (90, 200), (150, 300), (240, 480), (1_200, 500)):
        roll_call = roll_call_of(1)
        roll_call.begin(0)
        filling(roll_call, 0, B=marked(FIRST, disk_ns=disk_ms * MS))
        assert roll_call.timer.at_ns == limit_ms * MS


def test_who_waits_for_its_disk_is_not_silent_but_who_does_not_fill_up_twice_is() -> None:
    roll_call = roll_call_of(1)
    roll_call.begin(0)
    filling(roll_call, 0)
    roll_call.on_filled(0, A, Filled(roll_call.id))
    assert suspects(roll_call.on_time(FILL_NS)) == []
    filling(roll_call, FILL_NS, B=marked(SECOND, storing_ns=FILL_NS))
    roll_call.on_filled(FILL_NS, A, Filled(roll_call.id))
    assert roll_call.storing == {B: FILL_NS}
    assert suspects(roll_call.on_time(2 * FILL_NS)) == [C]


def test_whose_disk_stands_still_for_longer_than_a_suspension_is_silent() -> None:
    roll_call = roll_call_of(1)
    roll_call.begin(0)
    for attempt in (1, 2):
        filling(roll_call, attempt, B=marked(roll_call.id, storing_ns=RESUMER_NS))
        for member in (A, C):
            roll_call.on_filled(attempt, member, Filled(roll_call.id))
        steps = roll_call.on_time(attempt + FILL_NS)
    assert suspects(steps) == [B]


def test_a_coordinator_whose_own_disk_stands_still_gives_up_its_place() -> None:
    roll_call = roll_call_of(1)
    roll_call.begin(0)
    filling(roll_call, 0, A=marked(FIRST, storing_ns=RESUMER_NS))
    for member in (B, C):
        roll_call.on_filled(0, member, Filled(FIRST))
    failed, lost = orders(roll_call.on_time(FILL_NS))
    assert failed[:2] == ("on_failed", FIRST) and lost == Lost(failed[2])
    assert failed[2] == "its mark file was not stored for 2.5 s, and every view waits for it"


def test_the_same_primary_view_keeps_its_id_over_attempts_and_roll_calls() -> None:
    numbers = ViewNumbers()
    roll_call = roll_call_of(1, numbers=numbers)
    roll_call.begin(0)
    first = filling(roll_call, 0)
    assert first == Electorate(ViewId(5, A), (A, B, C))
    roll_call.on_time(FILL_NS)
    assert filling(roll_call, FILL_NS, A=marked(SECOND, number=5)) == first
    again = roll_call_of(3, numbers=numbers, proposed=roll_call.proposed)
    again.begin(0)
    assert filling(again, 0, A=marked(again.id, number=5)) == first


def test_another_primary_view_gets_another_id() -> None:
    """B drops out; or somebody knows a view with a number as high."""
    numbers = ViewNumbers()
    roll_call = roll_call_of(1, numbers=numbers)
    roll_call.begin(0)
    first = filling(roll_call, 0)
    assert first is not None
    again = roll_call_of(2, numbers=numbers, proposed=first)
    again.begin(0)
    assert filling(again, 0, B=marked(SECOND, number=5)) == first._replace(view=ViewId(6, A))
    without = roll_call_of(3, numbers=numbers, proposed=first, going=(B,))
    without.begin(0)
    for member in (C, A):
        said = replace(marked(without.id), holdings=(Holding(B, 0, 0),))
        without.on_answer(0, member, said)
    assert without.primary == Electorate(ViewId(7, A), (A, C))
