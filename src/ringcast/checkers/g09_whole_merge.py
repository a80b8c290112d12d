"""G9, merge is whole: a MergeView has a digest entry for each of its members; overlapping entries take the maximum.

At the merge leader the view's entries equal the join of all that entered its consolidation, so none is there that
nobody gave; at any other coordinator they are at least what it contributed.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ringcast.checkers.shape import Closed, Evidence, Finding, Report
from ringcast.checkers.views import Installed, installed
from ringcast.model import Address, Digest, Entry, Event, Kind
from ringcast.trace import detail_of


@dataclass(slots=True)
class _Merge:
    """What one member knows of one merge."""

    is_leader: bool = False
    entries: Digest = field(default_factory=Digest)


class WholeMergeChecker:
    guarantee = "G9"
    kinds = (Kind.MERGE, Kind.DIGEST, Kind.VIEW)

    def __init__(self) -> None:
        self._report = Report(self.guarantee)
        self._merges: dict[tuple[Address, str], _Merge] = {}

    def on_event(self, member: Address, index: int, event: Event) -> None:
        if event.kind is Kind.VIEW:
            self._on_view(Evidence.of(member, index, event), installed(event))
            return
        detail = detail_of(event.detail)
        if detail.get("merge_id") is None:
            return
        merge = self._merges.setdefault((member, str(detail["merge_id"])), _Merge())
        if event.kind is Kind.MERGE:
            merge.is_leader |= detail["step"] == "start"
        elif detail.get("about") != "going-away":
            if event.peer is None:
                raise ValueError("a DIGEST event without the member it is about")
            merge.entries = merge.entries.merge(Digest({event.peer: Entry(event.first, event.value, event.other)}))

    def _on_view(self, here: Evidence, view: Installed) -> None:
        if not view.is_merge:
            return
        self._report.examined += 1
        missing = view.digest.missing(view.members)
        if missing:
            names = ", ".join(map(str, missing))
            sentence = f"{here.member} installed the MergeView {view.id} without a digest entry of {names}"
            self._report.violated((here.member,), here.index, sentence, here)
        merge = self._merges.get((here.member, view.merge_id)) if view.merge_id is not None else None
        if merge is not None:
            self._compare(here, view, merge)

    def _compare(self, here: Evidence, view: Installed, merge: _Merge) -> None:
        if merge.is_leader:
            self._from_nowhere(here, view, merge)
        for member, joined in merge.entries.entries.items():
            entry = view.digest.get(member)
            if entry is None or member not in view.members:
                continue
            if entry.join(joined) != entry or (merge.is_leader and entry != joined):
                sentence = f"the MergeView {view.id} has {member}: {entry}, the maximum of what was said is {joined}"
                self._report.violated((here.member, member), here.index, sentence, here)

    def _from_nowhere(self, here: Evidence, view: Installed, merge: _Merge) -> None:
        for member in view.members:
            if view.digest.get(member) is not None and merge.entries.get(member) is None:
                sentence = f"the MergeView {view.id} has an entry of {member} that never reached {here.member}"
                self._report.violated((here.member, member), here.index, sentence, here)

    def finish(self, closed: Closed) -> Finding:
        return self._report.finding()
