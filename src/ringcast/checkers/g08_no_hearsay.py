"""G8, no hearsay: in a merge each member's digest entry comes from that member itself.

What is reported about members that are going away concerns only the cut and is not judged. And the entry is true: a
member sends nothing between its answer and the view, so what a MergeView says of its stream, wherever it is installed,
is how far it had sent when it installed that view itself.
"""

from __future__ import annotations

from ringcast.checkers.shape import Closed, Evidence, Finding, Report
from ringcast.checkers.views import Installed, installed
from ringcast.model import Address, Event, Kind, ViewId
from ringcast.trace import as_address, detail_of


class HearsayChecker:
    guarantee = "G8"
    kinds = (Kind.DIGEST, Kind.SEND, Kind.VIEW)

    def __init__(self) -> None:
        self._report = Report(self.guarantee)
        self._sent: dict[Address, int] = {}
        self._had_sent: dict[tuple[ViewId, Address], int] = {}  # when it installed this MergeView
        self._told: list[tuple[Installed, Evidence]] = []

    def on_event(self, member: Address, index: int, event: Event) -> None:
        if event.kind is Kind.DIGEST:
            self._on_digest(member, index, event)
        elif event.kind is Kind.VIEW:
            self._on_view(member, index, event)
        elif event.stream == 0:
            self._sent[member] = max(self._sent.get(member, 0), event.first + event.count - 1)

    def _on_view(self, member: Address, index: int, event: Event) -> None:
        view = installed(event)
        if view.is_merge:
            self._had_sent.setdefault((view.id, member), self._sent.get(member, 0))
            self._told.append((view, Evidence.of(member, index, event)))

    def _on_digest(self, member: Address, index: int, event: Event) -> None:
        detail = detail_of(event.detail)
        if detail.get("merge_id") is None or detail.get("about") == "going-away":
            return
        if event.peer is None:
            raise ValueError("a DIGEST event without the member it is about")
        origin = as_address(detail["origin"])
        self._report.examined += 1
        if origin != event.peer:
            sentence = f"in merge {detail['merge_id']} {member} took the entry of {event.peer} from {origin}"
            self._report.violated((member, event.peer, origin), index, sentence, Evidence.of(member, index, event))

    def finish(self, closed: Closed) -> Finding:
        for view, here in self._told:
            for member, entry in view.digest.entries.items():
                sent = self._had_sent.get((view.id, member))
                if sent is not None and entry.delivered != sent:
                    what = f"{view.id} says {entry.delivered} for {member} at {here.member}"
                    sentence = f"{what}, and that had sent up to {sent}"
                    self._report.violated((here.member, member), here.index, sentence, here)
        return self._report.finding()
