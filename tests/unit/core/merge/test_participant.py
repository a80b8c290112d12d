"""Step part in a merge: one at a time, each id once, every end."""

from dataclasses import replace
from typing import Any

import pytest

from ringcast.core.control import MergeCall, MergeDigest, MergeId, MergeReq, MergeRsp, MergeView
from ringcast.core.effects import SendReliable
from ringcast.core.merge import MergeParticipant, Told
from ringcast.model import Address, Config, Entry, Event, View, ViewId
from unit.core.calls import neighbour


def member(name: str) -> Address:
    return Address(name, 0, f"{name}:1")


B, C, D, L, X = map(member, "BCDLX")
CONFIG = Config()
VIEW = View(ViewId(7, C), (C, D))
FIRST, SECOND_ONE = MergeId(L, 1), MergeId(L, 2)
REQUEST = MergeReq(FIRST, VIEW.id, (C, D))
ENTRY = {C: Told(C, Entry(0, 10, 10)), D: Told(D, Entry(0, 9, 9))}
OUTCOME = MergeView(
    FIRST, ViewId(9, L), (L, C, D), (), ((L,), (C, D)), 64, 1000, (Entry(0, 1, 1), Entry(0, 10, 10), Entry(0, 9, 9))
)


def orders(decisions: list[Any]) -> list[Any]:
    return [d for d in decisions if not isinstance(d, Event)]


def reason(decisions: list[Any]) -> object:
    """Why the merge ended, as the trace has it."""
    (event,) = (d for d in decisions if isinstance(d, Event) and d.detail and d.detail.get("step") == "end")
    assert event.detail is not None
    return event.detail["why"]


OVER = ("on_merge_ended", FIRST, False)  # the view handler is told


def participant_of(me: Address, yields: bool = False) -> MergeParticipant:
    """`yields`: the leader of this member's own merge gives way to another one."""
    return MergeParticipant(me, CONFIG, neighbour(yields_to=yields))


def accepted() -> MergeParticipant:
    participant = participant_of(C)
    assert participant.objection(L, REQUEST, VIEW) is None
    participant.on_accepted(0, REQUEST)
    return participant


def answered() -> MergeParticipant:
    participant = accepted()
    participant.on_merge_call(1, L, MergeCall(FIRST))
    participant.on_roll_call_ended(2, FIRST, ENTRY, 7, (64, 1000))
    return participant


def test_accepting_answers_the_leader_and_again_for_a_duplicate() -> None:
    participant = participant_of(C)
    answer = SendReliable(L, MergeRsp(FIRST, True))
    assert orders(participant.on_accepted(0, REQUEST)) == [answer]
    assert participant.on_accepted(1, REQUEST) == [answer]


def test_refusing_answers_at_once_x5() -> None:
    participant = participant_of(C)
    assert orders(participant.on_refused(0, L, FIRST, "C#0 is gathering")) == [
        SendReliable(L, MergeRsp(FIRST, False, "C#0 is gathering"))
    ]


def test_the_call_starts_the_roll_call_once() -> None:
    participant = accepted()
    assert orders(participant.on_merge_call(1, L, MergeCall(FIRST))) == [("hold_roll_call", FIRST, (C, D))]
    assert participant.on_merge_call(1, L, MergeCall(FIRST)) == []


def test_the_digest_goes_to_the_leader_with_who_is_missing() -> None:
    participant = accepted()
    participant.on_merge_call(1, L, MergeCall(FIRST))
    out = orders(participant.on_roll_call_ended(2, FIRST, {C: ENTRY[C]}, 7, (64, 1000)))
    assert out == [SendReliable(L, MergeDigest(FIRST, (C,), (C,), (Entry(0, 10, 10),), (D,), 7, 64, 1000))]


def test_whom_the_merge_excludes_is_not_missing() -> None:
    """Only observers are left on this side: they can make no view without their dead before the merge."""
    participant = accepted()
    participant.on_merge_call(1, L, MergeCall(FIRST))
    out = orders(participant.on_roll_call_ended(2, FIRST, {C: ENTRY[C]}, 7, (64, 1000), excluded=(D,)))
    assert out == [SendReliable(L, MergeDigest(FIRST, (C,), (C,), (Entry(0, 10, 10),), (), 7, 64, 1000))]


def test_who_has_not_loaded_its_state_is_told_to_the_leader_and_by_it() -> None:
    participant = accepted()
    participant.on_merge_call(1, L, MergeCall(FIRST))
    (sent,) = orders(participant.on_roll_call_ended(2, FIRST, ENTRY, 7, (64, 1000), stateless=(D,)))
    assert isinstance(sent, SendReliable) and isinstance(sent.message, MergeDigest)
    assert sent.message.stateless == (D,)
    outcome = replace(OUTCOME, stateless=(D,))
    assert orders(participant.on_merge_view(3, L, outcome)) == [("spread", outcome)]


def test_hearsay_counts_as_missing_g8() -> None:
    participant = accepted()
    participant.on_merge_call(1, L, MergeCall(FIRST))
    hearsay = {C: ENTRY[C], D: Told(C, Entry(0, 9, 9))}
    (sent,) = orders(participant.on_roll_call_ended(2, FIRST, hearsay, 7, (64, 1000)))
    assert isinstance(sent, SendReliable) and isinstance(sent.message, MergeDigest)
    assert (sent.message.members, sent.message.missing) == ((C,), (D,))


def test_the_merge_view_is_spread_and_the_installed_view_ends_the_merge() -> None:
    participant = answered()
    assert orders(participant.on_merge_view(3, L, OUTCOME)) == [("spread", OUTCOME)]
    assert orders(participant.on_view(4, OUTCOME.view)) == []
    assert participant.merge is None


def test_a_view_that_is_no_merge_view_ends_it_without_one() -> None:
    participant = answered()
    out = participant.on_view(4, View(ViewId(8, C), (C,)))
    assert (orders(out), reason(out)) == ([OVER], "view C#0|8 came")


@pytest.mark.parametrize("part", ["accepted", "answered"])
def test_a_cancel_ends_it(part: str) -> None:
    participant = accepted() if part == "accepted" else answered()
    out = participant.on_cancel(3, L, FIRST, "D is missing")
    assert (orders(out), reason(out)) == ([OVER], "D is missing")
    assert participant.merge is None


def test_it_ends_by_itself_after_the_limit() -> None:
    participant = accepted()
    assert participant.deadlines.first_ns == CONFIG.resumer_ns
    assert participant.on_time(CONFIG.resumer_ns - 1) == []
    out = participant.on_time(CONFIG.resumer_ns)
    assert (orders(out), reason(out)) == ([OVER], "it took too long")
    assert participant.deadlines.first_ns is None


# ---- objections


@pytest.mark.parametrize(
    ("request_", "why"),
    [
        (MergeReq(MergeId(X, 1), VIEW.id, (C, D)), "merge X#0~1 is not L#0's"),
        (MergeReq(FIRST, ViewId(6, C), (C, D)), "C#0 is in view C#0|7, not C#0|6"),
        (MergeReq(FIRST, VIEW.id, (D,)), "these are not members of C#0's view C#0|7"),
        (MergeReq(FIRST, VIEW.id, (C, X)), "these are not members of C#0's view C#0|7"),
    ],
)
def test_requests_that_do_not_fit_are_objected_to(request_: MergeReq, why: str) -> None:
    assert participant_of(C).objection(L, request_, VIEW) == why


def test_a_second_merge_is_refused_at_a_coordinator_and_at_a_member() -> None:
    assert accepted().objection(L, MergeReq(SECOND_ONE, VIEW.id, (C, D)), VIEW) == "C#0 is in merge L#0~1"
    simple = participant_of(D)
    assert simple.enter(0, FIRST) is None
    assert simple.enter(1, FIRST) is None  # The roll call began again.
    assert simple.enter(2, SECOND_ONE) == "D#0 is in merge L#0~1"


def test_our_own_merge_yields_to_a_lower_leader_while_nothing_is_held() -> None:
    """In which order the two ends are carried out does not matter."""
    ours, lower = MergeReq(MergeId(C, 4), VIEW.id, (C, D)), MergeReq(MergeId(B, 1), VIEW.id, (C, D))
    participant = participant_of(C, yields=True)
    participant.on_accepted(0, ours)
    assert participant.objection(B, lower, VIEW) is None
    assert orders(participant.on_accepted(1, lower)) == [SendReliable(B, MergeRsp(MergeId(B, 1), True))]
    assert participant.on_released(2, ours.merge_id) == []
    assert participant.merge is not None and participant.merge.merge_id == MergeId(B, 1)


def test_our_own_merge_keeps_others_out_if_its_leader_does_not_yield() -> None:
    participant = participant_of(C)
    participant.on_accepted(0, MergeReq(MergeId(C, 4), VIEW.id, (C, D)))
    lower = MergeReq(MergeId(B, 1), VIEW.id, (C, D))
    assert participant.objection(B, lower, VIEW) == "C#0 is in merge C#0~4"


def test_another_leaders_merge_does_not_yield_although_one_of_our_own_would() -> None:
    participant = participant_of(C, yields=True)
    participant.on_accepted(0, REQUEST)
    lower = MergeReq(MergeId(B, 1), VIEW.id, (C, D))
    assert participant.objection(B, lower, VIEW) == "C#0 is in merge L#0~1"


@pytest.mark.parametrize("end", ["cancel", "released", "view", "limit"])
def test_a_merge_id_is_armed_once_in_its_life(end: str) -> None:
    participant = accepted()
    match end:
        case "cancel":
            participant.on_cancel(1, L, FIRST, "")
        case "released":
            participant.on_released(1, FIRST)
        case "view":
            participant.on_view(1, OUTCOME.view)
        case _:
            participant.on_time(CONFIG.resumer_ns)
    assert participant.objection(L, REQUEST, VIEW) == "merge L#0~1 is over"
    assert participant.enter(9, FIRST) == "merge L#0~1 is over"
    assert participant.objection(L, MergeReq(SECOND_ONE, VIEW.id, (C, D)), VIEW) is None


def test_a_cancel_that_overtakes_its_request_uses_the_id_up() -> None:
    participant = participant_of(C)
    participant.on_cancel(0, L, FIRST, "")
    assert participant.objection(L, REQUEST, VIEW) == "merge L#0~1 is over"


def test_messages_of_others_or_of_another_step_change_nothing() -> None:
    participant = accepted()
    assert participant.on_merge_call(1, X, MergeCall(FIRST)) == []
    assert participant.on_merge_call(1, L, MergeCall(SECOND_ONE)) == []
    assert participant.on_merge_view(1, L, OUTCOME) == []
    assert participant.on_roll_call_ended(1, FIRST, ENTRY, 7, (64, 1000)) == []
    assert participant.on_cancel(1, X, FIRST, "") == []
    assert participant.on_released(1, SECOND_ONE) == []
    assert participant.merge is not None and participant.merge.merge_id == FIRST


def test_an_outcome_without_us_or_without_its_entries_is_dropped() -> None:
    short = MergeView(FIRST, ViewId(9, L), (L, C, D), (), (), 64, 1000, (Entry(0, 1, 1),))
    without = MergeView(FIRST, ViewId(9, L), (L, D), (), (), 64, 1000, (Entry(0, 1, 1), Entry(0, 9, 9)))
    participant = answered()
    assert participant.on_merge_view(3, L, short) == []
    assert participant.on_merge_view(3, L, without) == []
    assert participant.on_merge_view(3, X, OUTCOME) == []


def test_only_who_refused_is_named_as_missing_y15() -> None:
    participant = accepted()
    participant.on_merge_call(1, L, MergeCall(FIRST))
    (sent,) = orders(participant.on_roll_call_ended(2, FIRST, {}, 7, (64, 1000), blamed=(D,)))
    assert isinstance(sent, SendReliable) and isinstance(sent.message, MergeDigest)
    assert sent.message.missing == (D,)
