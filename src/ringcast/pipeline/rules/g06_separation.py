"""G6, separation: at a coordinator no merge runs while a view change runs, and the reverse.

No kernel of its own: the steps are control events. A view change is open from its suspension (or its roll call, if
that is all that was recorded) until it is resumed and its roll call has ended; a merge from its first `start` or
`accept` to its `end`. Two intervals overlap iff one begins while the other is open, so it is enough to know at each
beginning what is open at that member.
"""

from __future__ import annotations

from ringcast.model import Kind
from ringcast.pipeline.rules.fact import Out, name_of
from ringcast.pipeline.rules.run import Control, Run

GUARANTEE = "G6"


def compare(run: Run, out: Out) -> None:
    steps = run.control_by_member(Kind.ROLL_CALL, Kind.MERGE, Kind.SUSPEND, Kind.RESUME)
    for member, rows in steps.items():
        here = _Coordinator(member, out)
        for row in rows:
            here.on_step(row)


class _Coordinator:
    """What is open at one member."""

    def __init__(self, member: str, out: Out) -> None:
        self.member, self.out = member, out
        self.is_suspended = self.is_calling = False
        self.merges: dict[str, None] = {}

    def on_step(self, row: Control) -> None:
        if row.kind == Kind.SUSPEND:
            self.is_suspended = row.detail["cause"] == "view"
        elif row.kind == Kind.RESUME:
            self.is_suspended = False
        elif row.kind == Kind.ROLL_CALL:
            self._on_roll_call(row, row.detail["step"])
        else:
            self._on_merge(row, str(row.detail["merge_id"]), row.detail["step"])

    def _on_roll_call(self, row: Control, step: str) -> None:
        if step == "end":
            self.is_calling = False
        elif step == "start" and row.detail["purpose"] == "view":
            self.out.examined(1)
            self.is_calling = True
            for merge_id in self.merges:
                sentence = f"{name_of(self.member)} began a view change while merge {merge_id} ran"
                self.out.violation(row.index, sentence, member=self.member)

    def _on_merge(self, row: Control, merge_id: str, step: str) -> None:
        if step == "end":
            self.merges.pop(merge_id, None)
        elif step in ("start", "accept") and merge_id not in self.merges:
            self.out.examined(1)
            self.merges[merge_id] = None
            if self.is_suspended or self.is_calling:
                sentence = f"{name_of(self.member)} began merge {merge_id} while a view change ran"
                self.out.violation(row.index, sentence, member=self.member)
