"""The view handler of seed 004, told as stories (tests/scenario/testdata/view_handler)."""

from pathlib import Path
from typing import Any

import pytest

from ringcast.core.control import Busy, MergeId
from ringcast.core.effects import SendReliable
from ringcast.core.membership import Request, RequestKind, ViewHandler
from ringcast.model import MS, Address, Config, Event, Kind, View, ViewId
from scenario.stories import play, stories
from unit.core.calls import Calls, ask_to_merge, raise_merge


def member(name: str) -> Address:
    return Address(name, 0, f"{name}:1")


def merge_id(text: str) -> MergeId:
    leader, number = text.split("~")
    return MergeId(member(leader), int(number))


class Stage:
    """One handler (member A), driven by the words of a story. `after 20` lets 20 ms pass."""

    def __init__(self) -> None:
        self.now_ns = 0
        self.number = 0
        self.ticket = 0
        self.changes: Any = Calls(notes={})
        self.handler = ViewHandler(member("A"), Config(gather_ns=20 * MS, request_capacity=10), self.changes)

    def __call__(self, words: list[str]) -> list[str]:
        command, *args = words
        self.changes.made.clear()
        out: list[Any] = getattr(self, command.replace("-", "_"))(*args) or []
        self.ticket = next((d[1] for d in out if isinstance(d, tuple) and d[0] == "start"), self.ticket)
        return [line for decision in self._in_order(out) for line in told(decision)]

    def _in_order(self, out: list[Any]) -> list[Any]:
        """The decisions, with each call that answers nothing (`watch`, `unwatch`) before the call made after it."""
        made, ordered = self.changes.made, list(out)
        for at, call in enumerate(made):
            if call[0] in ("watch", "unwatch"):
                following = next((ordered.index(later) for later in made[at + 1 :] if later in ordered), len(ordered))
                ordered.insert(following, call)
        return ordered

    def view(self, *names: str, merges: bool = False) -> list[Any]:
        self.number += 1
        members = tuple(map(member, names))
        view = View(ViewId(self.number, members[0]), members, subgroups=((members[0],),) if merges else ())
        return self.handler.on_view(self.now_ns, view)

    def merge_view(self, *names: str) -> list[Any]:
        return self.view(*names, merges=True)

    def _ask(self, kind: RequestKind, names: tuple[str, ...]) -> list[Any]:
        return [d for name in names for d in self.handler.on_request(self.now_ns, Request(kind, member(name)))]

    def join(self, *names: str) -> list[Any]:
        return self._ask(RequestKind.JOIN, names)

    def join_with_state(self, *names: str) -> list[Any]:
        return self._ask(RequestKind.JOIN_WITH_STATE, names)

    def leave(self, *names: str) -> list[Any]:
        return self._ask(RequestKind.LEAVE, names)

    def coord_leave(self, *names: str) -> list[Any]:
        return self._ask(RequestKind.COORD_LEAVE, names)

    def suspect(self, *names: str) -> list[Any]:
        return self._ask(RequestKind.SUSPECT, names)

    def installed(self, ticket: str = "") -> list[Any]:
        return self.handler.on_change_ended(self.now_ns, int(ticket or self.ticket), True)

    def failed(self, ticket: str = "") -> list[Any]:
        return self.handler.on_change_ended(self.now_ns, int(ticket or self.ticket), False)

    def merge(self, text: str) -> list[Any]:
        return raise_merge(self.handler, self.now_ns, merge_id(text))

    def merge_req(self, text: str, *names: str) -> list[Any]:
        """`names`: the members of our view that are asked for."""
        wanted = merge_id(text)
        return ask_to_merge(self.handler, self.now_ns, wanted.leader, wanted, tuple(map(member, names)))

    def merge_done(self, text: str) -> list[Any]:
        return self.handler.on_merge_ended(self.now_ns, merge_id(text), True)

    def merge_failed(self, text: str) -> list[Any]:
        return self.handler.on_merge_ended(self.now_ns, merge_id(text), False)

    def state_progress(self, name: str) -> None:
        self.handler.on_state_progress(self.now_ns, member(name))

    def state_confirmed(self, name: str) -> list[Any]:
        return self.handler.on_state_confirmed(self.now_ns, member(name))

    def after(self, ms: str) -> list[Any]:
        """Time passes; the handler is called exactly at its deadlines, as a driver does."""
        until = self.now_ns + int(ms) * MS
        out: list[Any] = []
        while (deadline := self.handler.deadlines.first_ns) is not None and deadline <= until:
            self.now_ns = deadline
            out += self.handler.on_time(self.now_ns)
        self.now_ns = until
        return out


def names_of(requests: tuple[Request, ...]) -> str:
    return ", ".join(f"{request.kind} {request.member.name}" for request in requests)


def told(decision: Any) -> list[str]:
    match decision:
        case "start", _, requests:
            return [f"start {names_of(requests)}"]
        case "start merge", wanted:
            return [f"start merge {wanted.leader.name}~{wanted.number}"]
        case "accept", _, wanted:
            return [f"accept {wanted.leader.name}~{wanted.number}"]
        case "reject", _, wanted, why:
            return [f"reject {wanted.leader.name}~{wanted.number}: {why}"]
        case SendReliable(to, Busy()):
            return [f"busy {to.name}"]
        case ("give_view", to):
            return [f"give the view to {to.name}"]
        case "stop_waiting_for", suspect:
            return [f"tell the roll call: {suspect.name}"]
        case ("watch" | "unwatch") as call, leader:
            return [f"{call} {leader.name}"]
        case "cancel", suspension, _:
            return [f"cancel to all who hold for {suspension.phase}"]
        case Event(kind=Kind.RESUME, other=case, detail=detail):
            assert detail is not None
            return [f"resumed #{case} {detail['cause']}"]
        case Event(kind=Kind.SUSPEND, detail=detail):
            assert detail is not None
            return [f"suspended: {detail['cause']}"]
        case Event(kind=Kind.REQUESTED, detail=detail) if detail is not None:
            return [f"{detail['what']} {detail['answer']}"] if detail["answer"] in QUIET else []
        case _:
            return []


# Answers that order nothing, so that only the trace tells of them.
QUIET = ("duplicate", "discarded", "confirmed", "excluded", "stalled", "accepted again")


@pytest.mark.parametrize("path", stories("view_handler"), ids=lambda path: path.stem)
def test_the_view_handler_answers_as_told(path: Path) -> None:
    play(path, Stage())
