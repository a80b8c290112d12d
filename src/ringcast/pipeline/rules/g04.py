"""G4, views. Joined half only: views are few.

Ids grow at a member iff each is greater than the one before it; "one content" holds iff everybody's content equals
that of the first who installed the id, because equality is transitive. Codes are in the order of addresses, so they
compare as creators do.
"""

from __future__ import annotations

from typing import Any

import pandas as pd

from ringcast.model import Kind
from ringcast.pipeline.rules.facts import Facts
from ringcast.pipeline.rules.joined import NONE, Tables, chosen, tell

GUARANTEE = "G4"
_CONTENT = ("members", "observers", "subgroups", "capacity")


def joined(tables: Tables, facts: Facts) -> None:
    views = tables.views()
    if len(views) < len(tables.control(Kind.VIEW)):
        facts.lacks(GUARANTEE, "a VIEW without content")
    facts.examined(GUARANTEE, len(views))
    before = views.groupby("member", sort=False)[["number", "number_creator"]].shift(1)
    views = views.assign(before=before["number"], before_creator=before["number_creator"]).drop(columns="peer")
    _check_ids(tables, facts, views)
    pairs = zip(views["member"], views["members"], strict=True)
    outside = chosen(views, (member not in members for member, members in pairs))
    tell(facts, GUARANTEE, outside, lambda row: f"{tables.name(row.member)} is not in view {row.number} it installed")
    _check_contents(tables, facts, views)


def _check_ids(tables: Tables, facts: Facts, views: pd.DataFrame) -> None:
    same = views["number"] == views["before"]
    is_less = (views["number"] < views["before"]) | (same & (views["number_creator"] <= views["before_creator"]))
    tell(facts, GUARANTEE, views[is_less], lambda row: _shrank(tables, row))
    follows = (views["previous_number"] == views["before"]) & (views["previous_creator"] == views["before_creator"])
    astray = views[(views["previous_number"] != NONE) & ~follows]
    tell(facts, GUARANTEE, astray, lambda row: f"view {row.number} at {tables.name(row.member)} follows another view")


def _shrank(tables: Tables, row: Any) -> str:
    return f"{tables.name(row.member)} installed view {row.number} after view {row.before:.0f}: ids only grow"


def _check_contents(tables: Tables, facts: Facts, views: pd.DataFrame) -> None:
    contents = [repr(tuple(map(_plain, row))) for row in zip(*(views[name] for name in _CONTENT), strict=True)]
    views = views.assign(content=contents)
    firsts = views.groupby(["number", "number_creator"], sort=False)[["content", "member"]].transform("first")
    views = views.assign(peer=firsts["member"])
    unlike = views[views["content"] != firsts["content"]]
    tell(facts, GUARANTEE, unlike, lambda row: _two_contents(tables, row))


def _plain(value: Any) -> Any:
    """Lists of lists as such; what was not recorded is an empty one, or 0."""
    if value is None:
        return []
    return [_plain(item) for item in value] if hasattr(value, "__iter__") else max(0, int(value))


def _two_contents(tables: Tables, row: Any) -> str:
    return f"view {row.number} has another content at {tables.name(row.member)} than at {tables.name(row.peer)}"
