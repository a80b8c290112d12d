"""The small tables that the joined halves of rules work on, as pandas frames inside a Spark task.

They are what the ingest and the local halves leave: a few rows per view, so a task holds them whole. A joined half
reads frames and tells `Facts` what it found. Numbers that were not recorded are -1 (`NONE`), lists None.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ringcast.model import Kind
from ringcast.pipeline.rules.facts import FACTS, KEPT_VIOLATIONS, Facts
from ringcast.pipeline.rules.member import name_of
from ringcast.pipeline.tables import CONTROL, Dataset

NONE = -1
VIEW_ID = ["epoch", "creator"]
ITS_OWN_ID = {"number": "epoch", "number_creator": "creator"}


@dataclass(frozen=True, slots=True)
class Tables:
    """`members` has a `label` (the printed address) beside the columns of the members table; all in recorded order."""

    members: pd.DataFrame
    all_control: pd.DataFrame
    facts: pd.DataFrame

    def control(self, *kinds: Kind) -> pd.DataFrame:
        return self.all_control[self.all_control["kind"].isin([int(kind) for kind in kinds])]

    def fact(self, what: str) -> pd.DataFrame:
        return self.facts[self.facts["what"] == what]

    def traits(self, key: str, **names: str) -> pd.DataFrame:
        """Columns of the members table to be joined on `key`: `traits("peer", is_whole="peer_is_whole")`."""
        return self.members[["code", *names]].rename(columns={"code": key, **names})

    def name(self, code: int) -> str:
        return str(self.members["label"].iat[code]) if 0 <= code < len(self.members) else "somebody unrecorded"

    def views(self) -> pd.DataFrame:
        """Views as they were installed, those whose content was recorded."""
        views = self.control(Kind.VIEW)
        return views[views["members"].notna() & (views["number"] != NONE)]

    def merge_views(self) -> pd.DataFrame:
        views = self.control(Kind.VIEW)
        return chosen(views, (groups is not None and len(groups) > 0 for groups in views["subgroups"]))

    def steps(self) -> pd.DataFrame:
        """Who went from which view (epoch, creator) to which (to_epoch, to_creator), `index` where."""
        views = self.views()[["member", "index", "number", "number_creator", "synchrony"]].rename(columns=ITS_OWN_ID)
        after = views.groupby("member", sort=False).shift(-1)
        views = views.assign(to_epoch=after["epoch"], to_creator=after["creator"], index=after["index"])
        views = views.assign(holds=after["synchrony"])[after["epoch"].notna()]
        return views.astype({"to_epoch": "int64", "to_creator": "int64", "index": "int64"})


def chosen(rows: pd.DataFrame, flags: Iterable[bool]) -> pd.DataFrame:
    """The rows whose flag is set; an empty list of flags would choose columns."""
    return rows[np.fromiter(flags, dtype=np.bool_, count=len(rows))]


def tell(facts: Facts, guarantee: str, rows: pd.DataFrame, say: Callable[[Any], str]) -> None:
    """Each of these rows (member, index, perhaps peer) is a violation; `say` puts it into words."""
    for row in rows.head(KEPT_VIOLATIONS).itertuples(index=False):
        facts.violation(guarantee, int(row.member), int(getattr(row, "peer", NONE)), int(row.index), say(row))
    facts.more(guarantee, max(0, len(rows) - KEPT_VIOLATIONS))


def without(rows: pd.DataFrame, others: pd.DataFrame, on: list[str]) -> pd.DataFrame:
    """The rows that have no partner among the others."""
    marked = rows.merge(others[on].drop_duplicates(), on=on, how="left", indicator="_side")
    return marked[marked["_side"] == "left_only"].drop(columns="_side")


def load_tables(dataset: Dataset, facts: Sequence[pa.Table]) -> Tables:
    """The tables of one run; `facts` are those of the local halves."""
    rows = dataset.members()
    control = pa.concat_tables([pq.read_table(dataset.control(row["code"])) for row in rows])
    members = pd.DataFrame([{**row, "label": name_of(row)} for row in rows])
    together = pa.concat_tables(facts) if facts else FACTS.empty_table()
    return Tables(members, _frame(control, CONTROL), _frame(together, FACTS))


def _frame(table: pa.Table, schema: pa.Schema) -> pd.DataFrame:
    """As pandas, whole numbers staying whole."""
    columns = []
    for field in schema:
        column = table[field.name]
        if pa.types.is_integer(field.type):
            column = pc.fill_null(column, NONE).cast(pa.int64())
        columns.append(column)
    frame = pa.table(columns, names=schema.names).to_pandas()
    if "synchrony" in frame:
        frame["synchrony"] = frame["synchrony"].map(lambda holds: True if holds is None else bool(holds))
    return frame
