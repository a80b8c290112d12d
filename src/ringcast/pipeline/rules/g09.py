"""G9, merge is whole. Joined half only: merges are few.

Whole: no member of a MergeView is without an entry in its digest (a set difference). Maximum: the join of entries is
the maximum of each figure, so at the leader each entry of the view equals the maxima of what entered its
consolidation; another coordinator knows only a part, so there it is at least those.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from ringcast.model import Kind
from ringcast.pipeline.rules.facts import Facts
from ringcast.pipeline.rules.joined import Tables, chosen, tell

GUARANTEE = "G9"


def joined(tables: Tables, facts: Facts) -> None:
    merges = tables.merge_views()
    facts.examined(GUARANTEE, len(merges))
    entries = [
        {"member": row.member, "index": row.index, "number": row.number, "merge_id": row.merge_id, **_renamed(entry)}
        for row in merges.itertuples(index=False)
        for entry in _entries(row.digest)
        if entry["member"] in row.members
    ]
    have = [{entry["member"] for entry in _entries(digest)} for digest in merges["digest"]]
    is_partial = (not set(members) <= known for members, known in zip(merges["members"], have, strict=True))
    tell(facts, GUARANTEE, chosen(merges, is_partial).drop(columns="peer"), lambda row: _partial(tables, row))
    _not_the_maximum(tables, facts, entries)


def _entries(digest: Any) -> Sequence[dict[str, int]]:
    return () if digest is None else digest


def _renamed(entry: dict[str, int]) -> dict[str, int]:
    return {"peer": entry["member"], **{name: entry[name] for name in ("low", "delivered", "received")}}


def _partial(tables: Tables, row: Any) -> str:
    return f"the MergeView {row.number} at {tables.name(row.member)} has no digest entry for some of its members"


def _not_the_maximum(tables: Tables, facts: Facts, entries: list[dict[str, Any]]) -> None:
    said = tables.control(Kind.DIGEST)
    said = said[said["about"].fillna("member") != "going-away"]
    if not entries or said.empty:
        return
    key = ["member", "merge_id", "peer"]
    most = said.groupby(key, as_index=False)[["first", "value", "other"]].max()
    leads = tables.control(Kind.MERGE)
    leads = leads[leads["step"] == "start"][["member", "merge_id"]].drop_duplicates().assign(is_leader=True)
    both = pd.DataFrame(entries).merge(most, on=key).merge(leads, on=["member", "merge_id"], how="left")
    figures, tops = both[["low", "delivered", "received"]].to_numpy(), both[["first", "value", "other"]].to_numpy()
    is_below, is_unlike = (figures < tops).any(axis=1), (figures != tops).any(axis=1)
    wrong = both[is_below | (is_unlike & both["is_leader"].eq(True).to_numpy())]
    tell(facts, GUARANTEE, wrong, lambda row: _told(tables, row))


def _told(tables: Tables, row: Any) -> str:
    entry = f"the MergeView {row.number} has {row.delivered} for {tables.name(row.peer)}"
    return f"{entry}, the maximum said was {row.value}"
