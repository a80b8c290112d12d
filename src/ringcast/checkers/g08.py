"""G8, no hearsay: in a merge each member's digest entry comes from that member itself.

What is reported about members that are going away concerns only the cut and is not judged.
"""

from __future__ import annotations

from ringcast.checkers.shape import Closed, Evidence, Finding, Report
from ringcast.model import Address, Event, Kind
from ringcast.trace import as_address, detail_of


class HearsayChecker:
    guarantee = "G8"
    kinds = (Kind.DIGEST,)

    def __init__(self) -> None:
        self._report = Report(self.guarantee)

    def on_event(self, member: Address, index: int, event: Event) -> None:
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
        return self._report.finding()
