"""Where the parts of a merge meet those of membership: whom a leader yields to, and what is logged."""

from __future__ import annotations

from random import Random

from ringcast.core import Drop
from ringcast.core.control import CancelMerge, Control, MergeId, MergeReq, MergeRsp, NewView, Relayed, RollCallId
from ringcast.core.deadlines import Deadlines
from ringcast.core.effects import SendReliable
from ringcast.core.failure import Readmission
from ringcast.core.membership import Membership
from ringcast.core.merge import Party
from ringcast.core.merge.leader import Stage
from ringcast.core.merging import Merging
from ringcast.core.steps import Steps
from ringcast.model import Address, Config, Entry, Event, View, ViewId
from ringcast.wire import decode_control, encode_control
from unit.core.calls import neighbour

A, B, C, D = (Address(name, 1, f"mem:{name}") for name in "ABCD")
MINE, OTHER = View(ViewId(3, B), (B,)), View(ViewId(5, C), (C,))


class Streams:
    is_filled = True

    def entry(self) -> Entry:
        return Entry(0, 0, 0)


def leading(mine: View = MINE, via: Address | None = None) -> Merging:
    """B leads a merge of its view with C, and C has not answered yet."""
    config = Config()
    membership = Membership(B, config, Random(1), Streams(), neighbour(), neighbour())  # type: ignore[arg-type]
    entries = tuple(Entry(0, 0, 0) for _ in mine.members)
    view = NewView(RollCallId(mine.id, 0, 0), mine.id, mine.members, (), (), 64, 1000, entries, ())
    membership.on_installed(0, view)
    readmission = Readmission(config.readmit_ns, config.readmit_max_ns)
    merging = Merging(B, config, Random(1), membership, readmission, neighbour(), Deadlines())
    merging.on_view(0, mine)
    merging.raise_merge(0, (Party(B, mine, mine.members), Party(C, OTHER, (C,), via=via)))
    assert merging.leader.attempt is not None
    return merging


def take(merging: Merging, now_ns: int, sender: Address, message: Control) -> Steps:
    return merging.routes[type(message)](now_ns, sender, message)


def said(steps: Steps) -> Steps:
    return [step for step in steps if not isinstance(step, Event)]


def test_a_leader_does_not_yield_to_a_request_that_it_refuses() -> None:
    """A asks for a view that B is no longer in. Were B to give up its own merge for that, both would fail."""
    merging = leading()
    old = MergeReq(MergeId(A, 1), ViewId(2, B), (B,))
    (answer,) = said(take(merging, 1, A, old))
    assert isinstance(answer, SendReliable) and isinstance(answer.message, MergeRsp) and not answer.message.accepted
    assert merging.leader.attempt is not None


def test_a_leader_does_not_yield_while_work_waits_behind_its_merge() -> None:
    """A joiner still loads its state: without its own merge B would turn away A's, too."""
    merging = leading()
    assert merging._membership.as_coordinator is not None
    merging._membership.as_coordinator.handler.transfers.begin(0, C)
    take(merging, 1, A, MergeReq(MergeId(A, 1), MINE.id, (B,)))
    assert merging.leader.attempt is not None


def test_a_leader_yields_to_a_lower_one_whose_request_it_accepts() -> None:
    merging = leading()
    steps = said(take(merging, 1, A, MergeReq(MergeId(A, 1), MINE.id, (B,))))
    assert merging.leader.attempt is None
    assert [step.to for step in steps if isinstance(step, SendReliable) and isinstance(step.message, CancelMerge)] == [
        C
    ]


def test_a_leader_does_not_yield_once_its_roll_calls_run() -> None:
    merging = leading()
    ours = merging.leader.attempt
    assert ours is not None
    for coordinator in (B, C):
        take(merging, 1, coordinator, MergeRsp(ours.merge_id, True))
    assert ours.step is Stage.CALLING
    (answer,) = said(take(merging, 2, A, MergeReq(MergeId(A, 1), MINE.id, (B,))))
    assert isinstance(answer, SendReliable) and isinstance(answer.message, MergeRsp) and not answer.message.accepted
    assert merging.leader.attempt is ours


def test_a_leader_does_not_yield_to_a_higher_one() -> None:
    merging = leading()
    (answer,) = said(take(merging, 1, C, MergeReq(MergeId(C, 1), MINE.id, (B,))))
    assert isinstance(answer, SendReliable) and isinstance(answer.message, MergeRsp) and not answer.message.accepted
    assert merging.leader.attempt is not None


def test_a_merge_is_relayed_once_and_only_for_a_member_y13() -> None:
    merging = leading()
    request = MergeReq(MergeId(A, 1), OTHER.id, (C,))
    assert said(take(merging, 1, A, Relayed.of(A, B, request))) == [Drop("a relayed message from a stranger", A)]
    for sender, relayed in ((A, Relayed.of(A, C, request)), (C, Relayed.of(A, B, request))):
        (dropped,) = said(take(merging, 1, sender, relayed))
        assert isinstance(dropped, Drop)


def test_the_cancel_of_a_merge_goes_the_way_of_its_request() -> None:
    """Simulated seed 40576: B asked C itself. C's own request, which came late and through D, has a way of its own.

    The cancel of B's merge went through D, from whom C took nothing: C held until its Resumer came.
    """
    merging = leading(View(MINE.id, (B, D)))
    request = MergeReq(MergeId(C, 3), MINE.id, (B, D))
    assert said(take(merging, 1, D, Relayed.of(C, B, request)))
    cancel = SendReliable(C, CancelMerge(MergeId(B, 1), "no digest"))
    assert merging.relay(cancel) == cancel
    refusal = MergeRsp(request.merge_id, False, "busy")
    assert merging.relay(SendReliable(C, refusal)) == SendReliable(D, Relayed.of(B, C, refusal))


def test_a_request_that_comes_by_itself_changes_no_way_of_our_own_merge() -> None:
    """B asked C through D, of C's view: their answers are taken, also after C has asked B itself."""
    merging = leading(via=D)
    request = MergeReq(MergeId(C, 3), MINE.id, (B,))
    take(merging, 1, C, request)
    refusal = SendReliable(C, MergeRsp(request.merge_id, False, "busy"))
    assert merging.relay(refusal) == refusal
    cancel = CancelMerge(MergeId(B, 1), "no digest")
    assert merging.relay(SendReliable(C, cancel)) == SendReliable(D, Relayed.of(B, C, cancel))
    refused = MergeRsp(MergeId(B, 1), False, "busy")
    take(merging, 2, D, Relayed.of(C, B, refused))
    assert merging.leader.attempt is None, "C's refusal was taken"


def test_a_relayed_message_is_exactly_one() -> None:
    request = MergeReq(MergeId(A, 1), OTHER.id, (C,))
    assert decode_control(encode_control(Relayed.of(A, B, request))) == Relayed.of(A, B, request)
    assert isinstance(decode_control(encode_control(Relayed(A, B))), Drop)
    assert isinstance(decode_control(encode_control(Relayed(A, B, request, MergeRsp(MergeId(A, 1), True)))), Drop)
