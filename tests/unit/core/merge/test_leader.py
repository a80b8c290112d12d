"""The merge leader, step by step: whole orders, whole answers."""

from dataclasses import replace
from random import Random
from typing import Any

import pytest

from ringcast.core.control import CancelMerge, MergeCall, MergeDigest, MergeId, MergeReq, MergeRsp, MergeView
from ringcast.core.effects import SendReliable, Warn
from ringcast.core.merge import MergeLeader, Party
from ringcast.core.merge.leader import Stage
from ringcast.core.merge.patience import Patience
from ringcast.model import SECOND, Address, Config, Entry, Event, Kind, View, ViewId
from unit.core.calls import neighbour


def member(name: str) -> Address:
    return Address(name, 0, f"{name}:1")


A, B, C, D, E = map(member, "ABCDE")
CONFIG = Config()
AB, CD = View(ViewId(3, A), (A, B)), View(ViewId(7, C), (C, D))
PARTIES = (Party(C, CD, (C, D)), Party(A, AB, (A, B)))
FIRST = MergeId(A, 1)


def digest(merge_id: MergeId, text: str, number: int = 7, missing: tuple[Address, ...] = ()) -> MergeDigest:
    """`C10 D9`: what each said itself."""
    members = tuple(member(part[0]) for part in text.split())
    entries = tuple(Entry(0, int(part[1:]), int(part[1:])) for part in text.split())
    return MergeDigest(merge_id, members, members, entries, missing, number, 64, 1000)


def orders(decisions: list[Any]) -> list[Any]:
    return [d for d in decisions if not isinstance(d, Event)]


def leader_of(me: Address, may_lead: bool = True) -> MergeLeader:
    """Its view handler lets it begin, or does not."""
    return MergeLeader(me, CONFIG, Random(1), neighbour(may_lead_merge=may_lead))


def raised(leader: MergeLeader, now_ns: int, parties: tuple[Party, ...] = PARTIES) -> MergeId:
    """The merge that it begins."""
    leader.on_raised(now_ns, parties)
    assert leader.attempt is not None and leader.attempt.step is Stage.ASKING
    return leader.attempt.merge_id


def asking(parties: tuple[Party, ...] = PARTIES, now_ns: int = 0) -> tuple[MergeLeader, MergeId]:
    leader = leader_of(A)
    return leader, raised(leader, now_ns, parties)


def over(merge_id: MergeId = FIRST, installed: bool = False) -> tuple[object, ...]:
    """The view handler is told that the merge is over."""
    return ("on_merge_ended", merge_id, installed)


def reason(decisions: list[Any]) -> object:
    """Why the attempt ended, as the trace has it."""
    (event,) = (d for d in decisions if isinstance(d, Event) and d.detail and d.detail.get("step") == "end")
    assert event.detail is not None
    return event.detail["why"]


def calling(parties: tuple[Party, ...] = PARTIES) -> MergeLeader:
    leader, merge_id = asking(parties)
    for coordinator in (A, C):
        leader.on_merge_rsp(1, coordinator, MergeRsp(merge_id, True))
    return leader


def cancelled(why: str, *to: Address) -> list[Any]:
    return [*(SendReliable(each, CancelMerge(FIRST, why)) for each in to), over()]


def test_asking_goes_to_every_coordinator_ourselves_last() -> None:
    leading, event, *asked = leader_of(A).on_raised(0, PARTIES)
    assert leading == ("lead_merge", FIRST)
    assert asked == [SendReliable(C, MergeReq(FIRST, CD.id, (C, D))), SendReliable(A, MergeReq(FIRST, AB.id, (A, B)))]
    assert isinstance(event, Event) and event.kind is Kind.MERGE
    assert event.detail == {"step": "start", "merge_id": "A#0~1", "parties": [[A, B], [C, D]]}


def test_when_all_have_accepted_all_are_called() -> None:
    leader, merge_id = asking()
    assert leader.on_merge_rsp(1, A, MergeRsp(merge_id, True)) == []
    assert orders(leader.on_merge_rsp(2, C, MergeRsp(merge_id, True))) == [
        SendReliable(C, MergeCall(merge_id)),
        SendReliable(A, MergeCall(merge_id)),
    ]


def test_when_all_digests_are_here_the_view_goes_to_all_ourselves_last() -> None:
    leader = calling()
    assert orders(leader.on_merge_digest(2, C, digest(FIRST, "C10 D9"))) == []
    spread = orders(leader.on_merge_digest(3, A, digest(FIRST, "A15 B7", number=3)))
    entries = tuple(Entry(0, n, n) for n in (15, 7, 10, 9))
    view = MergeView(FIRST, ViewId(8, A), (A, B, C, D), (), ((A, B), (C, D)), 64, 1000, entries)
    assert spread == [SendReliable(C, view), SendReliable(A, view)]


def test_all_learn_who_has_not_loaded_its_state() -> None:
    leader = calling()
    leader.on_merge_digest(2, C, replace(digest(FIRST, "C10 D9"), stateless=(D, B)))
    *_, sent = leader.on_merge_digest(3, A, digest(FIRST, "A15 B7"))
    assert isinstance(sent, SendReliable) and isinstance(sent.message, MergeView)
    assert sent.message.stateless == (D,)  # C speaks for its own members only


def test_it_is_complete_when_our_own_view_is_installed() -> None:
    leader = calling()
    leader.on_merge_digest(2, C, digest(FIRST, "C10 D9"))
    *_, sent = leader.on_merge_digest(3, A, digest(FIRST, "A15 B7"))
    assert isinstance(sent, SendReliable) and isinstance(sent.message, MergeView)
    assert orders(leader.on_view(4, View(ViewId(8, C), (A, C)))) == []
    assert orders(leader.on_view(4, sent.message.view)) == [over(installed=True)]
    assert leader.deadlines.first_ns is None


def test_the_trace_says_whose_entry_came_from_whom_g8() -> None:
    events = calling().on_merge_digest(2, C, digest(FIRST, "C10 D9"))
    told = [(e.peer, e.value, e.detail) for e in events if isinstance(e, Event)]
    about = {"merge_id": "A#0~1", "about": "member"}
    assert told == [(C, 10, {"origin": C, **about}), (D, 9, {"origin": D, **about})]


def test_overlap_is_warned_of_and_takes_the_maximum() -> None:
    """B is asked for on both sides."""
    leader = calling((Party(C, View(ViewId(7, C), (C, D, B)), (C, D, B)), PARTIES[1]))
    leader.on_merge_digest(2, C, digest(FIRST, "C10 D9 B5"))
    out = orders(leader.on_merge_digest(3, A, digest(FIRST, "A15 B7")))
    assert out[0] == Warn("merge: more than one side sent a digest of B#0; the highest entries count")
    assert isinstance(out[1], SendReliable) and isinstance(out[1].message, MergeView)
    assert dict(zip(out[1].message.members, out[1].message.entries, strict=True))[B] == Entry(0, 7, 7)


# ---- whole or cancelled (G9)


def test_a_refusal_ends_the_attempt_at_once_x5() -> None:
    leader, merge_id = asking()
    leader.on_merge_rsp(1, A, MergeRsp(merge_id, True))
    out = orders(leader.on_merge_rsp(2, C, MergeRsp(merge_id, False, "C#0 is gathering")))
    assert out == cancelled("C#0 refused: C#0 is gathering", C)


def test_a_missing_digest_cancels_at_once() -> None:
    out = orders(calling().on_merge_digest(2, C, digest(FIRST, "C10", missing=(D,))))
    assert out == cancelled("C#0 has no digest for D#0", C)


def test_hearsay_cancels_g8() -> None:
    heard = digest(FIRST, "C10 D9")
    hearsay = MergeDigest(FIRST, heard.members, (C, C), heard.entries, (), 7, 64, 1000)
    out = orders(calling().on_merge_digest(2, C, hearsay))
    assert out == cancelled("C#0 sent what its members did not say themselves", C)


@pytest.mark.parametrize(
    ("answered", "wrong"),
    [
        ("C10", "C#0 was asked for C#0, D#0, and says nothing of D#0"),
        ("C10 E9", "C#0 answered for E#0, without being asked"),
        ("C10 D9 E9", "C#0 answered for E#0, without being asked"),
        ("C10 D9 D9", "C#0 answered twice for the same member"),
    ],
)
def test_a_coordinator_that_answers_for_others_than_it_was_asked_for_is_not_believed_g9(
    answered: str, wrong: str
) -> None:
    """Seed 000: "digests for all 6 nodes". It names nobody as missing, and cancels nothing itself."""
    leader = calling()
    assert orders(leader.on_merge_digest(2, C, digest(FIRST, answered))) == cancelled(wrong, C)
    fail(leader, C, PARTIES)
    three = (*PARTIES, Party(E, View(ViewId(1, E), (E,)), (E,)))
    assert asked_next(leader, three) == [A, E]  # It was blamed for that.


def test_an_observer_that_speaks_for_its_side_leaves_out_whom_the_merge_is_to_exclude() -> None:
    observers = View(ViewId(7, C), (C, D), observers=(C, D))
    leader = calling((Party(C, observers, (C, D)), PARTIES[1]))
    assert orders(leader.on_merge_digest(2, C, digest(FIRST, "C10"))) == []
    *_, sent = leader.on_merge_digest(3, A, digest(FIRST, "A15 B7"))
    assert isinstance(sent, SendReliable) and isinstance(sent.message, MergeView)
    assert sent.message.members == (A, B, C)


@pytest.mark.parametrize("wrong", ["too few entries", "without its sender"])
def test_a_malformed_digest_cancels_and_raises_nothing(wrong: str) -> None:
    whole = digest(FIRST, "C10 D9") if wrong == "too few entries" else digest(FIRST, "D9")
    entries = whole.entries[:1] if wrong == "too few entries" else whole.entries
    broken = MergeDigest(FIRST, whole.members, whole.origins, entries, (), 7, 64, 1000)
    out = calling().on_merge_digest(2, C, broken)
    assert (out[-1], reason(out)) == (over(), "C#0 sent what its members did not say themselves")


def test_no_answer_within_the_limit_cancels() -> None:
    leader, merge_id = asking()
    leader.on_merge_rsp(1, A, MergeRsp(merge_id, True))
    assert leader.deadlines.first_ns == CONFIG.merge_ask_ns
    assert leader.on_time(CONFIG.merge_ask_ns - 1) == []
    assert orders(leader.on_time(CONFIG.merge_ask_ns)) == cancelled("no answer from C#0 while asking", C)


def test_no_digest_within_the_limit_cancels() -> None:
    leader = calling()
    leader.on_merge_digest(2, A, digest(FIRST, "A15 B7"))
    assert leader.deadlines.first_ns == 1 + CONFIG.merge_ns
    assert orders(leader.on_time(1 + CONFIG.merge_ns)) == cancelled("no answer from C#0 while calling", C)


def test_the_death_of_a_coordinator_cancels_even_if_it_has_answered() -> None:
    leader = calling()
    leader.on_merge_digest(2, C, digest(FIRST, "C10 D9"))
    assert orders(leader.on_gone(3, C)) == cancelled("C#0 is suspected", C)
    assert leader.on_gone(3, C) == []


def test_the_resumer_ends_the_attempt_too() -> None:
    leader, _ = asking()
    assert leader.on_cancelled(9, MergeId(A, 7), "resumer") == []
    assert orders(leader.on_cancelled(9, FIRST, "resumer")) == cancelled("resumer", C)


@pytest.mark.parametrize("step", ["asking", "calling"])
def test_answers_that_are_not_awaited_change_nothing(step: str) -> None:
    leader = asking()[0] if step == "asking" else calling()
    before = (leader.attempt, dict(leader.attempt.awaited) if leader.attempt else None)
    old = MergeId(A, 99)
    for out in (
        leader.on_merge_rsp(2, E, MergeRsp(FIRST, False)),
        leader.on_merge_rsp(2, C, MergeRsp(old, False)),
        leader.on_merge_digest(2, E, digest(FIRST, "E1")),
        leader.on_merge_digest(2, C, digest(old, "C10 D9")),
        leader.on_merge_rsp(2, C, MergeRsp(FIRST, False)) if step == "calling" else [],
        leader.on_merge_digest(2, C, digest(FIRST, "C10 D9")) if step == "asking" else [],
    ):
        assert out == []
    assert (leader.attempt, dict(leader.attempt.awaited) if leader.attempt else None) == before


# ---- yielding, pausing, patience


def test_while_asking_it_yields_to_a_lower_leader() -> None:
    leader = leader_of(C)
    raised(leader, 0)
    assert leader.on_other_merge(1, MergeId(D, 1)) == [] and not leader.yields_to(MergeId(D, 1))
    assert leader.yields_to(MergeId(A, 5))
    out = leader.on_other_merge(1, MergeId(A, 5))
    assert (out[-1], reason(out)) == (over(MergeId(C, 1)), "yielded to A#0~5")
    assert raised(leader, 1) == MergeId(C, 2)  # Yielding costs no pause.


def test_once_roll_calls_run_it_does_not_yield() -> None:
    leader = leader_of(C)
    raised(leader, 0)
    for coordinator in (A, C):
        leader.on_merge_rsp(1, coordinator, MergeRsp(MergeId(C, 1), True))
    assert leader.on_other_merge(1, MergeId(A, 5)) == [] and not leader.yields_to(MergeId(A, 5))


def test_a_failed_attempt_is_followed_by_a_random_doubling_pause() -> None:
    leader = leader_of(A)
    pauses = []
    now = 0
    for _ in range(8):
        leader.on_merge_rsp(now, C, MergeRsp(raised(leader, now), False))
        pauses.append(leader.pause.until_ns - now)
        assert leader.on_raised(leader.pause.until_ns - 1, PARTIES) == []
        now = leader.pause.until_ns
    for turn, pause in enumerate(pauses):
        most = min(CONFIG.merge_pause_max_ns, CONFIG.merge_pause_ns << turn)
        assert most // 2 <= pause <= most
    assert max(pauses) <= 4 * SECOND


def test_a_merge_id_is_never_given_twice() -> None:
    leader = leader_of(A, may_lead=False)
    assert leader.on_raised(0, PARTIES) == [("discard_merge", MergeId(A, 1))]
    assert leader.on_raised(0, PARTIES) == [("discard_merge", MergeId(A, 2))]
    assert leader.attempt is None


def test_a_merge_that_the_view_handler_does_not_let_begin_asks_nobody() -> None:
    leader = leader_of(A, may_lead=False)
    leader.on_raised(0, PARTIES)
    assert (leader.attempt, leader.deadlines.first_ns, leader.pause.until_ns) == (None, None, 0)


def fail(leader: MergeLeader, who: Address, parties: tuple[Party, ...]) -> None:
    now_ns = leader.pause.until_ns
    leader.on_merge_rsp(now_ns, who, MergeRsp(raised(leader, now_ns, parties), False))


def asked_next(leader: MergeLeader, parties: tuple[Party, ...]) -> list[Address]:
    raised(leader, leader.pause.until_ns, parties)
    assert leader.attempt is not None
    return list(leader.attempt.parties)


def test_a_party_that_failed_twice_is_left_out_of_the_next() -> None:
    three = (*PARTIES, Party(E, View(ViewId(1, E), (E,)), (E,)))
    leader = leader_of(A)
    fail(leader, E, three)
    fail(leader, E, three)
    assert asked_next(leader, three) == [A, C]


def first_refuses(leader: MergeLeader, parties: tuple[Party, ...], refusing: tuple[Address, ...]) -> list[Address]:
    """Attempts, each ended by the first of `refusing` that is asked, until none is; then who is asked."""
    for _ in range(20):
        now_ns = leader.pause.until_ns
        asked = asked_next(leader, parties)
        refuser = next((peer for peer in refusing if peer in asked), None)
        if refuser is None:
            return asked
        assert leader.attempt is not None
        leader.on_merge_rsp(now_ns, refuser, MergeRsp(leader.attempt.merge_id, False, "no"))
    return []


def test_three_that_always_refuse_do_not_keep_the_others_apart() -> None:
    sick = tuple(map(member, "XYZ"))
    parties = (*PARTIES, *(Party(x, View(ViewId(1, x), (x,)), (x,)) for x in sick))
    assert first_refuses(leader_of(A), parties, sick) == [A, C]


def test_who_is_well_again_is_asked_although_another_never_is() -> None:
    """Both ran out, and nobody else is left: both are asked again, and only one of them fails."""
    parties = (*PARTIES, Party(E, View(ViewId(1, E), (E,)), (E,)))
    leader = leader_of(A)
    for peer in (C, C, E, E):
        fail(leader, peer, parties)
    assert first_refuses(leader, parties, (E,)) == [A, C]


def test_failures_age_by_attempts_that_nobody_spoilt() -> None:
    patience = Patience(2, 8)
    patience.on_attempt([E])
    patience.on_attempt([E])
    patience.on_attempt([C])
    for _ in range(3):
        patience.on_attempt(())
    assert patience.has_run_out(E)
    patience.on_attempt(())
    assert not patience.has_run_out(E)


def test_failures_of_a_bounded_number_of_members_are_remembered() -> None:
    patience = Patience(1, 2)
    patience.on_attempt([C, D, E])
    assert [patience.has_run_out(peer) for peer in (C, D, E)] == [False, True, True]


def test_the_only_other_party_is_asked_again_however_often_it_failed() -> None:
    leader = leader_of(A)
    for _ in range(5):
        fail(leader, C, PARTIES)
    assert asked_next(leader, PARTIES) == [A, C]


def test_a_member_without_digest_twice_is_left_out_but_not_its_party() -> None:
    leader = leader_of(A)
    for number in (1, 2):
        merge_id = MergeId(A, number)
        assert raised(leader, leader.pause.until_ns) == merge_id
        for coordinator in (A, C):
            leader.on_merge_rsp(leader.pause.until_ns, coordinator, MergeRsp(merge_id, True))
        leader.on_merge_digest(leader.pause.until_ns, C, digest(merge_id, "C10", missing=(D,)))
    _, _, *asked = leader.on_raised(leader.pause.until_ns, PARTIES)
    assert asked[0] == SendReliable(C, MergeReq(MergeId(A, 3), CD.id, (C,)))


def test_nothing_starts_without_another_party_or_without_us() -> None:
    leader = leader_of(A)
    assert leader.on_raised(0, PARTIES[1:]) == []
    assert leader.on_raised(0, (PARTIES[0], Party(E, CD, (E,)))) == []


def test_the_id_of_a_view_nobody_kept_is_not_used_again_g4() -> None:
    leader = calling()
    leader.on_merge_digest(2, C, digest(FIRST, "C10 D9"))
    leader.on_merge_digest(3, A, digest(FIRST, "A15 B7"))
    leader.on_time(10 * SECOND)
    now = leader.pause.until_ns
    assert raised(leader, now) == MergeId(A, 2)
    for coordinator in (A, C):
        leader.on_merge_rsp(now, coordinator, MergeRsp(MergeId(A, 2), True))
    leader.on_merge_digest(now, C, digest(MergeId(A, 2), "C10 D9"))
    *_, sent = leader.on_merge_digest(now, A, digest(MergeId(A, 2), "A15 B7"))
    assert isinstance(sent, SendReliable) and isinstance(sent.message, MergeView)
    assert sent.message.id == ViewId(9, A)
