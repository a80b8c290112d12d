"""G7, every suspension ends. Joined half only.

At a member SUSPEND and RESUME alternate, and a RESUME has the number of the SUSPEND before it: both are seen by
looking at the neighbour. Who holds are the members asked by roll calls between the two. The last
suspension may be open if the Resumer need not have come by the end of the recording.
"""

from __future__ import annotations

from typing import Any

import pandas as pd

from ringcast.model import Kind
from ringcast.pipeline.rules.facts import Facts
from ringcast.pipeline.rules.joined import Tables, tell

GUARANTEE = "G7"
GRACE_NS = 1_000_000_000

CASES = {
    "view": ["view-installed", "view-failed", "resumer"],
    "merge": ["merge-ended", "merge-view", "resumer"],
    "merge-request": ["merge-view", "leader-gone", "merge-ended", "resumer"],
}


def joined(tables: Tables, facts: Facts) -> None:
    turns = tables.control(Kind.SUSPEND, Kind.RESUME)[
        ["member", "index", "kind", "value", "other", "cause", "has_view", "cancelled"]
    ]
    own = turns.groupby("member", sort=False)
    before = own[["kind", "value", "cause", "index"]].shift(1)
    turns = turns.assign(open_cause=before["cause"], open_index=before["index"])
    suspends = turns["kind"] == int(Kind.SUSPEND)
    was_suspended = before["kind"] == int(Kind.SUSPEND)
    is_open = was_suspended & (before["value"] == turns["value"])
    facts.examined(GUARANTEE, int(suspends.sum()))
    name = tables.name
    unknown = turns[suspends & ~turns["cause"].isin(list(CASES))]
    tell(facts, GUARANTEE, unknown, lambda row: f"{name(row.member)} was suspended for no known cause")
    tell(facts, GUARANTEE, turns[suspends & was_suspended], lambda row: f"{name(row.member)} was suspended twice")
    tell(facts, GUARANTEE, turns[~suspends & ~is_open], lambda row: f"{name(row.member)} resumed without a suspension")
    pairs = zip(turns["open_cause"], turns["cause"], strict=True)
    is_strange = pd.Series([ended not in CASES.get(begun, [ended]) for begun, ended in pairs], turns.index, dtype=bool)
    tell(facts, GUARANTEE, turns[~suspends & is_open & is_strange], lambda row: _wrong_cause(tables, row))
    _uncancelled(tables, facts, turns[~suspends & is_open])
    _endless(tables, facts, turns[suspends & own["kind"].shift(-1).isna()])


def _wrong_cause(tables: Tables, row: Any) -> str:
    return (
        f"{tables.name(row.member)}: a suspension for {row.open_cause} was ended by {row.cause}, not one of its causes"
    )


def _uncancelled(tables: Tables, facts: Facts, resumes: pd.DataFrame) -> None:
    """Suspensions that ended without a view and left somebody holding."""
    by_cause = resumes["cause"].isin(["view-installed", "merge-view"])
    with_view = resumes["has_view"].where(resumes["has_view"].notna(), by_cause).astype(bool)
    failed = resumes[~with_view]
    if failed.empty:
        return
    events = tables.control(Kind.SUSPEND, Kind.ROLL_CALL)
    opened = events["index"].where(events["kind"] == int(Kind.SUSPEND)).groupby(events["member"]).ffill()
    asking = events.assign(open_index=opened)
    asking = asking[(asking["kind"] == int(Kind.ROLL_CALL)) & asking["step"].isin(["start", "again"])]
    asked = asking[asking["open_index"].notna() & asking["asked"].notna()].groupby(["member", "open_index"])["asked"]
    holding = {place: {int(code) for codes in lists for code in codes} for place, lists in asked}
    left = [
        len(holding.get((row.member, row.open_index), set()) - {row.member, *_codes(row.cancelled)})
        for row in failed.itertuples(index=False)
    ]
    failed = failed.assign(left=left)
    tell(facts, GUARANTEE, failed[failed["left"] > 0], lambda row: _no_cancel(tables, row))


def _codes(codes: Any) -> list[int]:
    return [] if codes is None else [int(code) for code in codes]


def _no_cancel(tables: Tables, row: Any) -> str:
    return f"{tables.name(row.member)} sent no cancel to {row.left} members that hold"


def _endless(tables: Tables, facts: Facts, last: pd.DataFrame) -> None:
    closed = tables.control(Kind.CLOSED)
    left = set(closed[closed["how"].fillna("") != "crashed"]["member"])
    last = last.merge(tables.traits("member", last_ns="last_ns"), on="member")
    is_late = last["last_ns"] > last["other"] + GRACE_NS
    overdue = is_late.where(last["other"] > 0, last["member"].isin(left))
    tell(
        facts,
        GUARANTEE,
        last[overdue],
        lambda row: f"{tables.name(row.member)}'s suspension for {row.cause} never ended",
    )
