"""Seed 004, "On reception of ...": every cell of the table in handler_table.py, tried on a real handler.

The stories (tests/scenario/testdata/view_handler) tell the same rules in sequence; here none can be missing.
"""

from typing import Any

import pytest

from ringcast.core.control import Busy, MergeId
from ringcast.core.effects import SendReliable
from ringcast.core.membership import Phase, Request, RequestKind, ViewHandler
from ringcast.core.membership.handler_table import RULES, MergeEvent
from ringcast.model import MS, Address, Config, Event, Kind, View, ViewId, first_mark
from unit.core.calls import ask_to_merge, neighbour, raise_merge


def member(name: str) -> Address:
    return Address(name, 0, f"{name}:1")


A, B, C, L = map(member, "ABCL")
OURS, THEIRS, OTHER = MergeId(A, 1), MergeId(L, 1), MergeId(L, 2)
REQUESTS = list(RequestKind)
SUSPENDED = [Phase.CHANGING, Phase.LEADING, Phase.FOLLOWING]
FREE = [Phase.IDLE, Phase.TRANSFERRING, Phase.GATHERING]


def handler_in(phase: Phase) -> ViewHandler:
    handler = ViewHandler(A, Config(gather_ns=20 * MS), neighbour(notes={}))
    handler.on_view(0, View(ViewId(1, A), (A, B), mark=first_mark(A, 2)))
    match phase:
        case Phase.TRANSFERRING:
            handler.on_state_begun(0, B)
        case Phase.GATHERING:
            handler.on_request(0, Request(RequestKind.JOIN, L))
        case Phase.CHANGING:
            handler.on_request(0, Request(RequestKind.JOIN, L))
            handler.on_time(20 * MS)
        case Phase.LEADING:
            raise_merge(handler, 0, OURS)
        case Phase.FOLLOWING:
            ask_to_merge(handler, 0, L, THEIRS)
    assert handler.phase is phase
    return handler


def orders(decisions: list[Any]) -> list[Any]:
    return [d for d in decisions if not isinstance(d, Event)]


def request_for(kind: RequestKind) -> Request:
    return Request(kind, C if kind.is_join else B)


def test_the_table_has_every_cell() -> None:
    assert list(RULES) == [*RequestKind, *MergeEvent]
    assert all(set(row) == set(Phase) for row in RULES.values())


@pytest.mark.parametrize("phase", FREE)
@pytest.mark.parametrize("kind", REQUESTS)
def test_not_suspended_the_event_is_added(kind: RequestKind, phase: Phase) -> None:
    handler = handler_in(phase)
    assert orders(handler.on_request(0, request_for(kind))) == []
    assert request_for(kind) in handler.queue
    assert handler.phase is Phase.GATHERING


@pytest.mark.parametrize("phase", SUSPENDED)
@pytest.mark.parametrize("kind", [kind for kind in REQUESTS if kind not in (RequestKind.SUSPECT, RequestKind.PRIMARY)])
def test_suspended_the_event_is_discarded_and_its_asker_told_busy(kind: RequestKind, phase: Phase) -> None:
    handler = handler_in(phase)
    request = request_for(kind)
    assert orders(handler.on_request(0, request)) == [SendReliable(request.member, Busy())]
    assert (request in handler.queue, handler.phase) == (False, phase)


@pytest.mark.parametrize("phase", SUSPENDED)
def test_suspended_a_wish_for_a_primary_view_is_discarded_for_it_is_raised_again(phase: Phase) -> None:
    handler = handler_in(phase)
    request = Request(RequestKind.PRIMARY, A)
    assert orders(handler.on_request(0, request)) == []
    assert (request in handler.queue, handler.phase) == (False, phase)


def test_a_wish_for_a_primary_view_is_settled_by_one() -> None:
    handler = handler_in(Phase.IDLE)
    mark = first_mark(A, 2)
    primary = View(ViewId(2, A), (A, B), mark=mark.of_view([A, B], mark.proposal(ViewId(2, A), [A, B])))
    handler.on_request(0, Request(RequestKind.PRIMARY, A))
    handler.on_view(0, primary)
    assert handler.phase is Phase.IDLE
    handler.on_request(0, Request(RequestKind.PRIMARY, A))
    assert handler.phase is Phase.IDLE


@pytest.mark.parametrize("phase", SUSPENDED)
def test_a_suspicion_discarded_as_a_request_is_told_to_the_running_roll_call(phase: Phase) -> None:
    handler = handler_in(phase)
    assert orders(handler.on_suspect(0, B)) == [("stop_waiting_for", B)]
    assert handler.phase is phase


def test_merge_starts_when_idle_and_suspends() -> None:
    handler = handler_in(Phase.IDLE)
    assert orders(raise_merge(handler, 0, OURS)) == [("start merge", OURS)]
    assert handler.phase is Phase.LEADING


@pytest.mark.parametrize("phase", [Phase.TRANSFERRING, *SUSPENDED])
def test_merge_is_discarded_while_suspended_or_while_a_joiner_gets_its_state(phase: Phase) -> None:
    handler = handler_in(phase)
    assert orders(raise_merge(handler, 0, MergeId(A, 9))) == []
    assert handler.phase is phase


def test_merge_is_discarded_for_queued_events_and_these_are_processed() -> None:
    handler = handler_in(Phase.GATHERING)
    assert orders(raise_merge(handler, 0, OURS)) == [("start", 1, (Request(RequestKind.JOIN, L),))]
    assert handler.phase is Phase.CHANGING


def test_a_merge_req_is_accepted_when_idle_and_suspends() -> None:
    handler = handler_in(Phase.IDLE)
    assert ("accept", L, THEIRS) in ask_to_merge(handler, 0, L, THEIRS)
    assert (handler.phase, handler.merge_leader) == (Phase.FOLLOWING, L)


@pytest.mark.parametrize("phase", [Phase.TRANSFERRING, *SUSPENDED])
def test_a_merge_req_is_rejected_at_once_while_suspended_x5(phase: Phase) -> None:
    handler = handler_in(phase)
    assert orders(ask_to_merge(handler, 0, L, OTHER)) == [("reject", L, OTHER, f"A#0 is {phase}")]
    assert handler.phase is phase


@pytest.mark.parametrize(("phase", "merge_id"), [(Phase.LEADING, OURS), (Phase.FOLLOWING, THEIRS)])
def test_a_merge_req_with_the_id_of_the_suspension_is_accepted_again(phase: Phase, merge_id: MergeId) -> None:
    handler = handler_in(phase)
    event, accepted = ask_to_merge(handler, 0, merge_id.leader, merge_id)
    assert accepted == ("accept", merge_id.leader, merge_id)
    assert event.detail["answer"] == "accepted again"
    assert handler.phase is phase


def test_a_merge_req_is_accepted_while_events_are_queued_and_these_are_processed_behind_it() -> None:
    handler = handler_in(Phase.GATHERING)
    assert orders(ask_to_merge(handler, 0, L, THEIRS, (A, B))) == [("accept", L, THEIRS)]
    assert (handler.phase, handler.deadlines.first_ns) == (Phase.FOLLOWING, Config().resumer_ns)
    steps = orders(handler.on_merge_ended(1, THEIRS, installed=False))
    assert steps[-1] == ("start", 2, (Request(RequestKind.JOIN, L),))


def test_a_merge_req_is_rejected_for_a_queued_suspicion_of_somebody_it_asks_for_and_the_queue_processed() -> None:
    handler = handler_in(Phase.GATHERING)
    handler.on_suspect(0, B)
    rejected, started = orders(ask_to_merge(handler, 0, L, THEIRS, (A, B)))
    assert rejected == ("reject", L, THEIRS, "A#0 is about to exclude B#0")
    assert started == ("start", 1, (Request(RequestKind.JOIN, L), Request(RequestKind.SUSPECT, B)))


def test_the_trace_names_suspension_cause_and_case() -> None:
    handler = handler_in(Phase.IDLE)
    ask_to_merge(handler, 5, L, THEIRS)
    resume = next(d for d in handler.on_suspect(7, L) if isinstance(d, Event))
    assert (resume.kind, resume.t_ns, resume.peer, resume.value, resume.other) == (Kind.RESUME, 7, L, 1, 3)
    assert resume.detail == {"cause": "leader-gone", "has_view": False}
