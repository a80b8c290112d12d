"""G5, agreed cut.

Local half: what a member multicast and delivered in each view, as maximal runs per sender. They are few (one per
sender and view if G1 holds) and exact, so two members delivered the same iff their lists of runs are equal. Joined
half: members that have V and directly after it W are compared with the first of them; equality is transitive, so that
decides for all pairs. A delivered run lies inside one maximal run that its sender sent in the same view (exact,
because both are maximal). Who has installed W has recorded everything it did in V.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from ringcast.model import Kind
from ringcast.pipeline.rules.facts import Facts
from ringcast.pipeline.rules.joined import ITS_OWN_ID, VIEW_ID, Tables, tell, without
from ringcast.pipeline.rules.member import Batch, Member

GUARANTEE = "G5"
_WAY = [*VIEW_ID, "to_epoch", "to_creator"]
_RUN = ["member", "reference", *_WAY, "peer", "first", "last"]
Place = tuple[int, int, int]  # epoch, creator, sender (-1: sent by the member itself)


class Local:
    """Maximal runs per view and sender. A view that is over is told at once, so only one is held."""

    def __init__(self, member: Member, facts: Facts) -> None:
        self._me = member
        self._facts = facts
        self._runs: dict[Place, list[list[int]]] = {}

    def on_batch(self, batch: Batch) -> None:
        runs = batch.where(np.isin(batch.kind, (Kind.DELIVER, Kind.SEND)) & (batch.stream == 0) & (batch.creator >= 0))
        if not len(runs):
            return
        sender = np.where(runs.kind == Kind.SEND, -1, runs.peer)
        order = np.lexsort((sender, runs.creator, runs.epoch))
        epoch, creator, sender = runs.epoch[order], runs.creator[order], sender[order]
        first, last = runs.first[order], (runs.first + runs.count - 1)[order]
        same = (np.diff(epoch) == 0) & (np.diff(creator) == 0) & (np.diff(sender) == 0)
        starts = np.flatnonzero(np.r_[True, ~(same & (first[1:] == last[:-1] + 1))])
        ends = np.r_[starts[1:], len(first)] - 1
        places = zip(epoch[starts].tolist(), creator[starts].tolist(), sender[starts].tolist(), strict=True)
        for place, low, high in zip(places, first[starts].tolist(), last[ends].tolist(), strict=True):
            self._add(place, low, high)

    def _add(self, place: Place, first: int, last: int) -> None:
        runs = self._runs.setdefault(place, [])
        if runs and runs[-1][1] + 1 == first:
            runs[-1][1] = last
        else:
            runs.append([first, last])

    def finish(self) -> None:
        for (epoch, creator, sender), runs in self._runs.items():
            view = {"member": self._me.code, "epoch": epoch, "creator": creator}
            for first, last in _merged(runs):
                if sender < 0:
                    self._facts.add("sent", first=first, last=last, **view)
                    if self._me.delivers_own:
                        continue
                # Without self-delivery a member counts as delivered what it sent.
                peer = self._me.code if sender < 0 else sender
                self._facts.add("delivered", peer=peer, first=first, last=last, **view)


def _merged(runs: list[list[int]]) -> list[list[int]]:
    """Sorted, disjoint, maximal."""
    merged: list[list[int]] = []
    for first, last in sorted(runs):
        if merged and first <= merged[-1][1] + 1:
            merged[-1][1] = max(merged[-1][1], last)
        else:
            merged.append([first, last])
    return merged


def joined(tables: Tables, facts: Facts) -> None:
    moves = _moves(tables)
    facts.examined(GUARANTEE, int((moves["member"] != moves["reference"]).sum()))
    _different(tables, facts, moves)
    _elsewhere(tables, facts)


def _moves(tables: Tables) -> pd.DataFrame:
    """Who went from which view to which, and the first of those who went the same way."""
    steps = tables.steps()
    steps = steps[steps["holds"].astype(bool)].merge(tables.traits("member", view_synchrony="keeps"), on="member")
    steps = steps[steps["keeps"]]
    return steps.assign(reference=steps.groupby(_WAY)["member"].transform("min"))


def _different(tables: Tables, facts: Facts, moves: pd.DataFrame) -> None:
    """Members whose runs in a view are not those of the reference they went on with.

    Equal lists of runs are equal sets of runs: each run of one side is looked for on the other, both ways round.
    """
    runs = tables.fact("delivered")[["member", *VIEW_ID, "peer", "first", "last"]]
    ways = moves[["member", "reference", *_WAY, "index"]]
    others = ways[ways["member"] != ways["reference"]]
    mine = others.merge(runs, on=["member", *VIEW_ID])
    theirs = others.merge(runs.rename(columns={"member": "reference"}), on=["reference", *VIEW_ID])
    unlike = pd.concat([without(mine, theirs, _RUN), without(theirs, mine, _RUN)])
    unlike = unlike.drop_duplicates(["member", "reference", *_WAY, "peer"])
    tell(facts, GUARANTEE, unlike, lambda row: _told(tables, runs, row))


def _told(tables: Tables, runs: pd.DataFrame, row: Any) -> str:
    of_sender = runs[(runs["epoch"] == row.epoch) & (runs["creator"] == row.creator) & (runs["peer"] == row.peer)]
    did = [
        f"{tables.name(code)} delivered {_text(of_sender[of_sender['member'] == code])}"
        for code in (row.member, row.reference)
    ]
    where = f"in view {row.epoch}, before both went to view {row.to_epoch}"
    return f"{where}, {did[0]} and {did[1]} from {tables.name(row.peer)}"


def _text(runs: pd.DataFrame) -> str:
    pairs = sorted(zip(runs["first"], runs["last"], strict=True))
    return ", ".join(f"{first}..{last}" for first, last in pairs[:20]) or "nothing"


def _elsewhere(tables: Tables, facts: Facts) -> None:
    """Messages that were delivered in another view than the one they were sent in."""
    sent = tables.fact("sent")[["member", *VIEW_ID, "first", "last"]]
    sent = sent.rename(columns={"member": "peer", "first": "sent_first", "last": "sent_last"})
    views = tables.control(Kind.VIEW)
    loose = views[~views["synchrony"].astype(bool)][["member", "number", "number_creator"]].rename(columns=ITS_OWN_ID)
    keeps = tables.traits("member", view_synchrony="keeps")
    delivered = tables.fact("delivered")[["member", "peer", *VIEW_ID, "first", "last"]].merge(keeps, on="member")
    delivered = without(delivered[delivered["keeps"]], loose, ["member", *VIEW_ID])
    delivered = delivered.merge(tables.traits("peer", is_whole="is_whole"), on="peer")
    both = delivered.reset_index(names="row").merge(sent, on=["peer", *VIEW_ID], how="left")
    inside = both[(both["sent_first"] <= both["first"]) & (both["first"] <= both["sent_last"])]
    reached = inside.groupby("row")["sent_last"].max().reindex(delivered.index)
    missing = (reached + 1).fillna(delivered["first"]).astype("int64")
    known_upto = delivered["peer"].map(sent.groupby("peer")["sent_last"].max()).fillna(0)
    is_strange = (missing <= delivered["last"]) & (delivered["is_whole"] | (missing <= known_upto))
    strange = delivered.assign(missing=missing, index=0)[is_strange]
    tell(facts, GUARANTEE, strange, lambda row: _unsent(tables, row))


def _unsent(tables: Tables, row: Any) -> str:
    what = f"{row.missing} from {tables.name(row.peer)} was delivered by {tables.name(row.member)} in view {row.epoch}"
    return f"{what}, but it was not sent in that view"
