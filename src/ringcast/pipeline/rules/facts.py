"""What the local halves of rules leave behind: violations, how much was examined, and small facts to be joined.

One table for all of them; `what` says which. A fact about a run has `first` and `last`; a figure is in `value`.

    violation   guarantee, member, peer (-1 if alone), index, sentence
    examined    guarantee, value                hidden   guarantee, value: violations beyond those kept
    lacks       guarantee, sentence: a record that was needed and is not there
    delivered   member took peer's multicast first..last in view (epoch, creator), a maximal run
    sent        member multicast first..last in view (epoch, creator), a maximal run
    reach       member delivered peer's stream: first = lowest, last = highest, index of the last run
    sending     member sent its stream: first..last
    acked       member was told by peer that it took stream up to value
    taken       member took peer's stream up to value, or began there
    reset       member set an offset to value at index, where it had come to `first` before (-1: no window)
    kept        member was at value for peer when the MergeView (epoch, creator) was installed
    ordering    member in view (epoch, creator): first = ns of its first place there, last = ns of its last queue start,
                index of that start
    early       member purged up to value in view (epoch, creator), peer had acked only `first`; last = 1 if peer is new
    figure      metrics: sentence = name, value
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa

FACTS = pa.schema(
    [
        ("what", pa.string()),
        ("guarantee", pa.string()),
        ("member", pa.int32()),
        ("peer", pa.int32()),
        ("index", pa.int64()),
        ("epoch", pa.int64()),
        ("creator", pa.int32()),
        ("stream", pa.int64()),
        ("first", pa.int64()),
        ("last", pa.int64()),
        ("value", pa.int64()),
        ("sentence", pa.string()),
    ]
)

KEPT_VIOLATIONS = 100  # per member and rule; more are counted


class Facts:
    """Collects the facts of one task."""

    def __init__(self) -> None:
        self._rows: list[dict[str, Any]] = []
        self._examined: dict[str, int] = {}
        self._violations: dict[str, int] = {}

    def add(self, what: str, **fields: Any) -> None:
        self._rows.append({"what": what, **fields})

    def examined(self, guarantee: str, count: int) -> None:
        self._examined[guarantee] = self._examined.get(guarantee, 0) + count

    def violation(self, guarantee: str, member: int, peer: int, index: int, sentence: str) -> None:
        kept = self._violations[guarantee] = self._violations.get(guarantee, 0) + 1
        if kept <= KEPT_VIOLATIONS:
            self.add("violation", guarantee=guarantee, member=member, peer=peer, index=index, sentence=sentence)

    def more(self, guarantee: str, count: int) -> None:
        """Violations that are counted only."""
        if count:
            self._violations[guarantee] = max(self._violations.get(guarantee, 0), KEPT_VIOLATIONS) + count

    def lacks(self, guarantee: str, sentence: str) -> None:
        self.add("lacks", guarantee=guarantee, sentence=sentence)

    def batch(self) -> pa.RecordBatch:
        totals = [{"what": "examined", "guarantee": name, "value": n} for name, n in self._examined.items()]
        hidden = [
            {"what": "hidden", "guarantee": name, "value": n - KEPT_VIOLATIONS}
            for name, n in self._violations.items()
            if n > KEPT_VIOLATIONS
        ]
        return pa.RecordBatch.from_pylist([*self._rows, *totals, *hidden], FACTS)
