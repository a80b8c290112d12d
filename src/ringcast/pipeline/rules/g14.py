"""G14, nothing blocks for ever. Joined half only: waits, views and faults are few.

A wait is over at its WAIT_END, or not at all. Everywhere it must be over by its own limit, and only a send may have
none; a process that was stopped has its grace when it runs again (a HEAL that names it in `peer`, since when in
`other`). After the last HEAL, if no FAULT follows, each wait of a live member must be over within the bound, counted
from its start or the heal, whichever is later; and at the horizon all live members are in one view, installed before
heal + bound. The horizon is the moment when the first live member ends or begins to leave: what happens then is no
longer undisturbed. Judged group by group, on the clock of whoever recorded the heal.
"""

from __future__ import annotations

from typing import Any

import pandas as pd

from ringcast.model import Kind
from ringcast.pipeline.rules.facts import Facts
from ringcast.pipeline.rules.joined import Tables, tell

GUARANTEE = "G14"
GRACE_NS = 1_000_000_000
DEFAULT_BOUND_NS = 60_000_000_000
UNLIMITED = ["send", "order"]  # a send may wait for ever, for room or for its place in the one order
_GROUP = ["group", "clock"]


def joined(tables: Tables, facts: Facts) -> None:
    waits = _waits(tables)
    facts.examined(GUARANTEE, len(waits))
    name = tables.name
    unlimited = waits[(waits["other"] <= 0) & ~waits["what"].isin(UNLIMITED)]
    tell(facts, GUARANTEE, unlimited, lambda row: f"{name(row.member)} waits for {row.what} without a limit")
    late = _late(tables, waits[(waits["other"] > 0) & (waits["end_ns"] > waits["other"] + GRACE_NS)])
    tell(facts, GUARANTEE, late, lambda row: f"{name(row.member)} waited for {row.what} beyond its own limit")
    live = _live(tables, _heals(tables))
    if live.empty:
        reason = "no HEAL that no FAULT follows, or no recording that reaches beyond its bound"
        facts.lacks(GUARANTEE, reason)
        return
    _judge_waits(tables, facts, waits, live)
    _judge_views(tables, facts, live)


def _waits(tables: Tables) -> pd.DataFrame:
    starts = tables.control(Kind.WAIT_START)[["member", "index", "t_ns", "value", "other", "what"]]
    ends = tables.control(Kind.WAIT_END).groupby(["member", "value"], as_index=False)["t_ns"].min()
    waits = starts.merge(ends.rename(columns={"t_ns": "over_ns"}), on=["member", "value"], how="left")
    waits = waits.merge(tables.traits("member", last_ns="last_ns"), on="member")
    return waits.assign(end_ns=waits["over_ns"].fillna(waits["last_ns"]))


def _late(tables: Tables, waits: pd.DataFrame) -> pd.DataFrame:
    """Of the waits that ended after their limits, those whose process could have ended them in time."""
    named = tables.control(Kind.HEAL)
    named = named[(named["other"] > 0) & (named["peer"] >= 0)].sort_values("other", kind="stable")
    if named.empty or waits.empty:
        return waits
    names = tables.members.set_index("code")["name"]
    stops = list(zip(named["peer"].map(names), named["other"], named["t_ns"], strict=True))
    due = waits["other"] + GRACE_NS
    for name, stopped_ns, again_ns in stops:
        meets = (waits["member"].map(names) == name) & (stopped_ns <= due)
        due = due.where(~meets, due.clip(lower=again_ns + GRACE_NS))
    return waits[waits["end_ns"] > due]


def _heals(tables: Tables) -> pd.DataFrame:
    """For each group (and clock) at most one row: heal_ns, bound_ns."""
    told = tables.control(Kind.FAULT, Kind.HEAL).merge(
        tables.traits("member", group="group", clock="clock"), on="member"
    )
    told = told[(told["kind"] != int(Kind.HEAL)) | (told["other"] <= 0)]  # one process that runs again is no heal
    heals = told[told["kind"] == int(Kind.HEAL)].sort_values("t_ns", kind="stable").groupby(_GROUP).tail(1)
    heals = heals.assign(heal_ns=heals["t_ns"], bound_ns=heals["value"].where(heals["value"] > 0, DEFAULT_BOUND_NS))
    faults = told[told["kind"] == int(Kind.FAULT)].groupby(_GROUP, as_index=False)["t_ns"].max()
    heals = heals[[*_GROUP, "heal_ns", "bound_ns"]].merge(
        faults.rename(columns={"t_ns": "fault_ns"}), on=_GROUP, how="left"
    )
    return heals[heals["fault_ns"].fillna(-1) <= heals["heal_ns"]]


def _live(tables: Tables, heals: pd.DataFrame) -> pd.DataFrame:
    """Members whose recordings reach beyond the bound, with the horizon."""
    closed = tables.control(Kind.CLOSED)
    crashed = closed[closed["how"] == "crashed"]["member"]
    live = tables.members[["code", *_GROUP, "last_ns"]].rename(columns={"code": "member"}).merge(heals, on=_GROUP)
    live = live[live["member"].isin(tables.control(Kind.VIEW)["member"]) & ~live["member"].isin(crashed)]
    live = live.assign(settled_ns=live["heal_ns"] + live["bound_ns"])
    live = live[live["last_ns"] >= live["settled_ns"]]
    starts = tables.control(Kind.WAIT_START)
    leaves = starts[starts["what"] == "leave"][["member", "t_ns"]].merge(live[["member", "settled_ns"]], on="member")
    leaving = leaves[leaves["t_ns"] >= leaves["settled_ns"]].groupby("member")["t_ns"].min()
    quiet_ns = live["member"].map(leaving).fillna(live["last_ns"]).clip(upper=live["last_ns"])
    return live.assign(horizon_ns=quiet_ns.groupby([live[name] for name in _GROUP]).transform("min"))


def _judge_waits(tables: Tables, facts: Facts, waits: pd.DataFrame, live: pd.DataFrame) -> None:
    judged = waits.merge(live.drop(columns="last_ns"), on="member")
    due = judged[["t_ns", "heal_ns"]].max(axis=1) + judged["bound_ns"]
    ended = judged["over_ns"].fillna(judged["horizon_ns"]).clip(upper=judged["horizon_ns"])
    tell(facts, GUARANTEE, judged[ended > due], lambda row: _stuck(tables, row))


def _stuck(tables: Tables, row: Any) -> str:
    return f"{tables.name(row.member)} still waited for {row.what} long after nothing disturbed it any more"


def _judge_views(tables: Tables, facts: Facts, live: pd.DataFrame) -> None:
    views = tables.control(Kind.VIEW)[["member", "index", "t_ns", "number", "number_creator"]].merge(live, on="member")
    finals = views[views["t_ns"] <= views["horizon_ns"]].groupby("member").tail(1)
    shared = finals.groupby(_GROUP)[["number", "number_creator"]].transform("first")
    finals = finals.assign(shared=shared["number"], shared_creator=shared["number_creator"])
    facts.examined(GUARANTEE, len(finals))
    is_shared = (finals["number"] == finals["shared"]) & (finals["number_creator"] == finals["shared_creator"])
    tell(facts, GUARANTEE, finals[~is_shared], lambda row: _unshared(tables, row))
    late = finals[finals["t_ns"] > finals["settled_ns"]]
    tell(facts, GUARANTEE, late, lambda row: f"{tables.name(row.member)} still changed its view after the bound")


def _unshared(tables: Tables, row: Any) -> str:
    own, others = f"{row.number}|{tables.name(row.number_creator)}", f"{row.shared}|{tables.name(row.shared_creator)}"
    return f"{tables.name(row.member)} ended in view {own}, others in view {others}"
