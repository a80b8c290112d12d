"""G6, separation: at a coordinator no merge runs while a view change runs, and the reverse.

A view change runs from its suspension, or ROLL_CALL `start` (purpose `view`), until it was resumed and the roll call
has ended: until the view has reached everybody who goes on, or has failed; a merge from MERGE `start` or `accept` to
its `end`. The roll call of a merge (purpose `merge`) is part of the merge.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ringcast.checkers.shape import Closed, Evidence, Finding, Report
from ringcast.model import Address, Event, Kind
from ringcast.trace import detail_of


@dataclass(slots=True)
class _Running:
    change: Evidence | None = None
    suspension: Evidence | None = None  # for a view change
    merges: dict[str, Evidence] = field(default_factory=dict)


class SeparationChecker:
    guarantee = "G6"
    kinds = (Kind.ROLL_CALL, Kind.MERGE, Kind.SUSPEND, Kind.RESUME)

    def __init__(self) -> None:
        self._report = Report(self.guarantee)
        self._members: dict[Address, _Running] = {}

    def on_event(self, member: Address, index: int, event: Event) -> None:
        detail = detail_of(event.detail)
        running = self._members.setdefault(member, _Running())
        here = Evidence.of(member, index, event)
        if event.kind in (Kind.SUSPEND, Kind.RESUME):
            is_change = event.kind is Kind.SUSPEND and detail["cause"] == "view"
            running.suspension = here if is_change else None
            return
        step = detail["step"]
        if event.kind is Kind.MERGE:
            self._on_merge(running, str(detail["merge_id"]), step, here)
        elif step == "start" and detail["purpose"] == "view":
            self._on_change(running, here)
        elif step == "end":
            running.change = None

    def _on_change(self, running: _Running, here: Evidence) -> None:
        self._report.examined += 1
        for merge_id, merge in running.merges.items():
            sentence = f"{here.member} began a view change while merge {merge_id} ran"
            self._report.violated((here.member,), here.index, sentence, merge, here)
        running.change = here

    def _on_merge(self, running: _Running, merge_id: str, step: str, here: Evidence) -> None:
        if step == "end":
            running.merges.pop(merge_id, None)
        elif step in ("start", "accept") and merge_id not in running.merges:
            self._report.examined += 1
            change = running.change or running.suspension
            if change is not None:
                sentence = f"{here.member} began merge {merge_id} while a view change ran"
                self._report.violated((here.member,), here.index, sentence, change, here)
            running.merges[merge_id] = here

    def finish(self, closed: Closed) -> Finding:
        return self._report.finding()
