"""G8, no hearsay. Joined half only: each DIGEST event of a merge names whose entry it is and who said it; they must
be equal."""

from __future__ import annotations

from typing import Any

from ringcast.model import Kind
from ringcast.pipeline.rules.facts import Facts
from ringcast.pipeline.rules.joined import NONE, Tables, tell

GUARANTEE = "G8"


def joined(tables: Tables, facts: Facts) -> None:
    entries = tables.control(Kind.DIGEST)
    entries = entries[entries["merge_id"].notna() & (entries["about"].fillna("member") != "going-away")]
    known = entries[entries["origin"] != NONE]
    facts.examined(GUARANTEE, len(known))
    tell(facts, GUARANTEE, known[known["origin"] != known["peer"]], lambda row: _told(tables, row))
    if len(known) < len(entries):
        facts.lacks(GUARANTEE, "who said a digest entry")


def _told(tables: Tables, row: Any) -> str:
    return f"in {row.merge_id} the entry of {tables.name(row.peer)} came from {tables.name(row.origin)}"
