"""The view handler under any sequence of facts: separation (G6) and every suspension's end (G7)."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from ringcast.core.control import MergeId
from ringcast.core.membership import Request, RequestKind, ViewHandler
from ringcast.model import MS, SECOND, Address, Config, Event, Kind, View, ViewId
from unit.core.calls import ask_to_merge, neighbour, raise_merge

MEMBERS = [Address(name, 0, f"{name}:1") for name in "ABCDL"]
ME, LEADER = MEMBERS[0], MEMBERS[-1]

facts = st.one_of(
    st.tuples(st.just("request"), st.sampled_from(RequestKind), st.sampled_from(MEMBERS)),
    st.tuples(st.just("merge"), st.integers(1, 3), st.just(ME)),
    st.tuples(st.just("merge_req"), st.integers(1, 3), st.sampled_from(MEMBERS)),
    st.tuples(st.just("merge_ended"), st.booleans(), st.sampled_from([ME, LEADER])),
    st.tuples(st.just("change_ended"), st.booleans(), st.integers(0, 2)),
    st.tuples(st.just("view"), st.booleans(), st.lists(st.sampled_from(MEMBERS[1:]), unique=True)),
    st.tuples(st.just("time"), st.sampled_from([1 * MS, 20 * MS, 10 * SECOND]), st.none()),
)


class Run:
    def __init__(self) -> None:
        self.handler = ViewHandler(ME, Config(gather_ns=20 * MS, request_capacity=4), neighbour(notes={}))
        self.now_ns = 0
        self.tickets = 0
        self.suspended: int | None = None

    def give(self, fact: str, first: object, second: object) -> list[Any]:
        handler, now = self.handler, self.now_ns
        match fact, first, second:
            case "request", RequestKind() as kind, Address() as who:
                return handler.on_request(now, Request(kind, who))
            case "merge", int(number), Address() as who:
                return raise_merge(handler, now, MergeId(who, number))
            case "merge_req", int(number), Address() as who:
                return ask_to_merge(handler, now, who, MergeId(who, number))
            case "merge_ended", bool(installed), Address() as who:
                present = handler.suspension and handler.suspension.merge_id
                return handler.on_merge_ended(now, present or MergeId(who, 1), installed)
            case "change_ended", bool(installed), int(ago):
                return handler.on_change_ended(now, self.tickets - ago, installed)
            case "view", bool(merges), list(others):
                view = View(ViewId(now + 1, ME), (ME, *others), subgroups=((ME,),) if merges else ())
                return handler.on_view(now, view)
            case _:
                assert isinstance(first, int)
                self.now_ns += first
                return handler.on_time(self.now_ns)

    def judge(self, decisions: list[Any]) -> None:
        for at, decision in enumerate(decisions):
            match decision:
                case Event(kind=Kind.SUSPEND, value=number):
                    assert self.suspended is None, "G6: suspended twice"
                    self.suspended = self.tickets = number
                case Event(kind=Kind.RESUME, value=number, detail=detail):
                    assert self.suspended == number, "G7: the end of another suspension"
                    self.suspended = None
                    assert detail is not None
                    assert decision.other in (1, 2, 3, 4), "G7: one of the four causes"
                    cancelled = any(isinstance(d, tuple) and d[0] == "cancel" for d in decisions[at:])
                    assert cancelled == (not detail["has_view"]), "G7: held members must hear of the end"
                case "start", ticket, requests:
                    assert self.suspended == ticket and requests
                    assert len(requests) == 1 or not any(request.goes_alone for request in requests)
                case (("start merge" | "accept"), *_):
                    assert self.suspended is not None


@settings(max_examples=300)
@given(st.lists(facts, max_size=60))
def test_no_merge_runs_with_a_view_change_and_every_suspension_ends(story: list[tuple[str, object, object]]) -> None:
    run = Run()
    for fact in story:
        run.judge(run.give(*fact))
        assert (run.handler.suspension is not None) == (run.suspended is not None)
        assert len(run.handler.queue) <= 4
    for _ in range(12):  # Left alone, the Resumer ends what is open; queued batches follow each other.
        run.judge(run.give("time", 10 * SECOND, None))
    assert run.suspended is None
    assert run.handler.deadlines.first_ns is None
