"""G5, agreed cut.

Local half: what a member multicast and delivered in each view, as maximal runs per sender. They are few (one per
sender and view if G1 holds) and exact, so two members delivered the same iff their lists of runs are equal. Joined
half: members that have V and directly after it W are compared with the first of them; equality is transitive, so that
decides for all pairs. A delivered run lies inside one maximal run that its sender sent in the same view (exact,
because both are maximal). Who has installed W has recorded everything it did in V.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ringcast.model import Kind
from ringcast.pipeline.rules.facts import Facts
from ringcast.pipeline.rules.joined import Tables, examined, found
from ringcast.pipeline.rules.member import Batch, Member

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

GUARANTEE = "G5"
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


def joined(tables: Tables) -> list[DataFrame]:
    moves = _moves(tables)
    return [examined(GUARANTEE, moves.where("member <> reference")), _different(tables, moves), *_elsewhere(tables)]


def _moves(tables: Tables) -> DataFrame:
    """Who went from which view to which, and the first of those who went the same way."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    own = Window.partitionBy("member").orderBy("index")
    way = Window.partitionBy("epoch", "creator", "to_epoch", "to_creator")
    keeps = tables.members.where("view_synchrony").select(F.col("code").alias("member"))
    views = tables.control(Kind.VIEW).where("number is not null and members is not null")
    steps = views.select(
        "member",
        F.col("number").alias("epoch"),
        F.col("number_creator").alias("creator"),
        F.lead("number").over(own).alias("to_epoch"),
        F.lead("number_creator").over(own).alias("to_creator"),
        F.lead("index").over(own).alias("index"),
        F.lead(F.coalesce("synchrony", F.lit(True))).over(own).alias("holds"),
    )
    gone = steps.where("to_epoch is not null and holds").join(keeps, "member", how="inner")
    return gone.withColumn("reference", F.min("member").over(way))


def _different(tables: Tables, moves: DataFrame) -> DataFrame:
    from pyspark.sql import functions as F

    view = ["epoch", "creator"]
    ways = moves.select("epoch", "creator", "to_epoch", "to_creator", "reference", "member", "index")
    lists = tables.fact("delivered").groupBy("member", "epoch", "creator", "peer")
    runs = lists.agg(F.sort_array(F.collect_list(F.struct("first", "last"))).alias("runs"))
    # Everything the compared members and their reference delivered; a sender that one of them lacks shows as null.
    heard = ways.join(runs, ["member", *view], how="inner").select(*ways.columns, "peer", "runs")
    theirs = runs.select(F.col("member").alias("reference"), *view, "peer", F.col("runs").alias("reference_runs"))
    senders = heard.select("reference", *view, "to_epoch", "to_creator", "peer").distinct()
    pairs = ways.where("member <> reference").join(senders, ["reference", *view, "to_epoch", "to_creator"], how="inner")
    pairs = pairs.join(runs, ["member", *view, "peer"], how="left").join(
        theirs, ["reference", *view, "peer"], how="left"
    )
    unlike = pairs.where(~F.col("runs").eqNullSafe(F.col("reference_runs")))
    names = tables.members.select(F.col("code").alias("reference"), F.col("label").alias("reference_name"))
    who = tables.members.select(F.col("code").alias("member"), F.col("label").alias("member_name"))
    unlike = unlike.join(names, "reference").join(who, "member")
    sentence = F.format_string(
        "in view %d, before both went to view %d, %s delivered %s and %s delivered %s",
        "epoch",
        "to_epoch",
        "member_name",
        _text("runs"),
        "reference_name",
        _text("reference_runs"),
    )
    return found(GUARANTEE, unlike, sentence)


def _text(name: str) -> Column:
    from pyspark.sql import functions as F

    pieces = F.transform(name, lambda run: F.concat_ws("..", run["first"].cast("string"), run["last"].cast("string")))
    return F.coalesce(F.concat_ws(", ", pieces), F.lit("nothing"))


def _elsewhere(tables: Tables) -> list[DataFrame]:
    """Messages that were delivered in another view than the one they were sent in."""
    from pyspark.sql import functions as F

    sent = tables.fact("sent").select(
        F.col("member").alias("peer"),
        "epoch",
        "creator",
        F.col("first").alias("sent_first"),
        F.col("last").alias("sent_last"),
    )
    known = tables.fact("sent").groupBy(F.col("member").alias("peer")).agg(F.max("last").alias("known_upto"))
    keeps = tables.members.where("view_synchrony").select(F.col("code").alias("member"))
    loose = (
        tables.control(Kind.VIEW)
        .where("synchrony = false")
        .select("member", F.col("number").alias("epoch"), F.col("number_creator").alias("creator"))
    )
    delivered = tables.fact("delivered").join(keeps, "member", how="inner")
    delivered = delivered.join(loose, ["member", "epoch", "creator"], how="left_anti")
    key = ["member", "peer", "epoch", "creator", "first", "last"]
    inside = (F.col("sent_first") <= F.col("first")) & (F.col("first") <= F.col("sent_last"))
    reach = (
        delivered.join(sent, ["peer", "epoch", "creator"], how="left")
        .groupBy(*key)
        .agg(F.max(F.when(inside, F.col("sent_last"))).alias("upto"))
    )
    reach = reach.withColumn("missing", F.coalesce(F.col("upto") + 1, F.col("first"))).where("missing <= last")
    senders = tables.members.select(F.col("code").alias("peer"), F.col("label").alias("sender"), "is_whole")
    strange = reach.join(senders, "peer", how="inner").join(known, "peer", how="left")
    strange = strange.where(F.col("is_whole") | (F.col("missing") <= F.coalesce("known_upto", F.lit(0))))
    sentence = F.format_string(
        "%d from %s was delivered in view %d, but it was not sent in that view", "missing", "sender", "epoch"
    )
    return [found(GUARANTEE, strange.withColumn("index", F.lit(0)), sentence)]
