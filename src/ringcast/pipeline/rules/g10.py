"""G10, merge repeats nothing.

Local half: how far each window had come when an OFFSET was set (`reset`), and when the installation of a MergeView
was over (`kept`), that is at the first message after it. Joined half: an OFFSET that belongs to a MergeView must be
for somebody else, who comes from another subgroup, above what was there, and equal to the digest; and who comes from
another subgroup is nowhere below the digest. Every way in which a merge can touch a window is one of these.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ringcast.model import Kind
from ringcast.pipeline.rules.facts import Facts
from ringcast.pipeline.rules.joined import Tables, examined, found
from ringcast.pipeline.rules.member import Batch, Installed, Member

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

GUARANTEE = "G10"


class Local:
    """Positions in the multicast of each sender, looked at only where a merge touches them."""

    def __init__(self, member: Member, facts: Facts) -> None:
        self._me = member
        self._facts = facts
        self._ready: dict[int, int] = {}
        self._merges = [view for view in member.installed if view.is_merge]
        self._installing: Installed | None = None

    def on_batch(self, batch: Batch) -> None:
        wanted = np.isin(batch.kind, (Kind.DELIVER, Kind.OFFSET, Kind.SEND, Kind.TAKEN)) & (batch.stream == 0)
        events = batch.where(wanted)
        stops = [int(i) for i in events.index[events.kind == Kind.OFFSET]]
        stops += [view.index for view in self._merges if len(events) and view.index <= events.index[-1]]
        done = 0
        for stop in sorted(stops):
            at = int(np.searchsorted(events.index, stop))
            self._pass(events, done, at)
            done = at
            if self._merges and self._merges[0].index == stop:
                self._settle()
                self._installing = self._merges.pop(0)
            else:
                self._reset(events, at)
                done = at + 1
        self._pass(events, done, len(events))

    def _pass(self, events: Batch, start: int, stop: int) -> None:
        if start >= stop:
            return
        self._settle()
        runs = Batch({name: values[start:stop] for name, values in events.columns.items()}).of(Kind.DELIVER)
        for sender in np.unique(runs.peer).tolist():
            mine = runs.peer == sender
            self._ready[sender] = max(self._ready.get(sender, 0), int((runs.first + runs.count - 1)[mine].max()))

    def _reset(self, events: Batch, at: int) -> None:
        sender, value = int(events.peer[at]), int(events.value[at])
        before = self._ready.get(sender, -1)
        self._facts.add("reset", member=self._me.code, index=int(events.index[at]), first=before, value=value)
        self._ready[sender] = value

    def _settle(self) -> None:
        view, self._installing = self._installing, None
        if view is None:
            return
        where = {"member": self._me.code, "epoch": view.view[0], "creator": view.view[1], "index": view.index}
        for peer in view.members:
            if peer != self._me.code:
                self._facts.add("kept", peer=peer, value=self._ready.get(peer, 0), **where)

    def finish(self) -> None:
        self._settle()


def joined(tables: Tables) -> list[DataFrame]:
    from pyspark.sql import functions as F

    views = tables.control(Kind.VIEW).where(F.size(F.coalesce("subgroups", F.array())) > 0)
    together = F.filter("subgroups", lambda group: F.array_contains(group, F.col("member")))
    views = views.select(
        "member", "number", "number_creator", F.coalesce(F.get(together, 0), F.array()).alias("mates"), "digest"
    )
    entry = F.get(F.filter("digest", lambda row: row["member"] == F.col("peer")), 0)["delivered"]
    return [*_resets(tables, views.withColumn("has_view", F.lit(True)), entry), *_kept(tables, views, entry)]


def _resets(tables: Tables, views: DataFrame, entry: Column) -> list[DataFrame]:
    from pyspark.sql import functions as F

    places = tables.fact("reset").select("member", "index", F.col("first").alias("before"))
    offsets = (
        tables.control(Kind.OFFSET)
        .where("stream = 0")
        .select("member", "index", "peer", "value", "number", "number_creator")
    )
    resets = offsets.join(places, ["member", "index"], how="inner").join(
        views, ["member", "number", "number_creator"], how="inner"
    )
    own = F.col("peer") == F.col("member")
    lower = ~own & (F.col("before") >= F.col("value"))
    mates = ~own & ~lower & (F.col("before") >= 0) & F.array_contains("mates", F.col("peer"))
    astray = ~own & ~lower & ~mates & (entry != F.col("value"))
    went = F.format_string("had received up to %d and reset its window to %d in a merge", "before", "value")
    return [
        found(GUARANTEE, resets.where(own), F.format_string("overwrote its own entry with %d in a merge", "value")),
        found(GUARANTEE, resets.where(lower), went),
        found(GUARANTEE, resets.where(mates), F.lit("reset the window of a member it was never apart from")),
        found(GUARANTEE, resets.where(astray), F.format_string("reset its window to %d, not to the digest", "value")),
    ]


def _kept(tables: Tables, views: DataFrame, entry: Column) -> list[DataFrame]:
    from pyspark.sql import functions as F

    kept = tables.fact("kept").select(
        "member", "peer", "index", "value", F.col("epoch").alias("number"), F.col("creator").alias("number_creator")
    )
    apart = kept.join(views, ["member", "number", "number_creator"], how="inner")
    apart = apart.where(~F.array_contains("mates", F.col("peer")))
    # The end of a cut recording may stand in the middle of an installation.
    whole = tables.members.where("is_whole").select(F.col("code").alias("member"))
    behind = apart.where(F.col("value") < entry).join(whole, "member", how="left_semi")
    stayed = F.format_string("stayed at %d, below the digest of the MergeView %d", "value", "number")
    return [examined(GUARANTEE, apart), found(GUARANTEE, behind, stayed)]
