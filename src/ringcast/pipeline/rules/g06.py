"""G6, separation. Joined half only.

In the order of a member's events, a view change is open from ROLL_CALL `start` (purpose `view`) to the next `end`, a
merge from its first `start` or `accept` to its `end`. Two intervals overlap iff one begins while the other is open;
so it is enough to know, at each beginning, what is open: the last step of a view change, and begun minus ended
merges. Linear, no join of intervals.
"""

from __future__ import annotations

from ringcast.model import Kind
from ringcast.pipeline.rules.facts import Facts
from ringcast.pipeline.rules.joined import Tables, tell

GUARANTEE = "G6"


def joined(tables: Tables, facts: Facts) -> None:
    steps = tables.control(Kind.ROLL_CALL, Kind.MERGE)[["member", "index", "kind", "step", "purpose", "merge_id"]]
    is_merge, is_end = steps["kind"] == int(Kind.MERGE), steps["step"] == "end"
    is_begin = steps["step"].isin(["start", "accept"])
    # A merge has steps between its beginning and its end; only the first of each of these two counts.
    phase = is_begin.astype("int8") - is_end.astype("int8")
    is_first = ~steps.assign(phase=phase).duplicated(["member", "kind", "merge_id", "phase"])
    is_new, is_over = is_merge & is_begin & is_first, is_merge & is_end & is_first
    begins = ~is_merge & (steps["step"] == "start") & (steps["purpose"] == "view")
    ends = ~is_merge & is_end
    member = steps["member"]
    merging = (is_new.astype("int64") - is_over.astype("int64")).groupby(member).cumsum().groupby(member).shift(1)
    change = begins.map({True: 1.0}).fillna(ends.map({True: 0.0}))
    changing = change.groupby(member).ffill().groupby(member).shift(1)
    facts.examined(GUARANTEE, int((is_new | begins).sum()))
    inside = steps[is_new & (changing == 1)]
    tell(
        facts,
        GUARANTEE,
        inside,
        lambda row: f"merge {row.merge_id} began at {tables.name(row.member)} in a change",
    )
    inside = steps[begins & (merging > 0)]
    tell(facts, GUARANTEE, inside, lambda row: f"a view change began at {tables.name(row.member)} while a merge ran")
