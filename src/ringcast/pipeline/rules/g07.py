"""G7, every suspension ends. Joined half only.

At a member SUSPEND and RESUME alternate, and a RESUME has the number of the SUSPEND before it: both are seen by
looking at the neighbour (`lag`, `lead`). Who holds are the members asked by roll calls between the two. The last
suspension may be open if the Resumer need not have come by the end of the recording.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ringcast.model import Kind
from ringcast.pipeline.rules.joined import Tables, examined, found

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

GUARANTEE = "G7"
GRACE_NS = 1_000_000_000

CASES = {
    "view": ["view-installed", "view-failed", "resumer"],
    "merge": ["merge-ended", "merge-view", "resumer"],
    "merge-request": ["merge-view", "leader-gone", "merge-ended", "resumer"],
}


def joined(tables: Tables) -> list[DataFrame]:
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    own = Window.partitionBy("member").orderBy("index")
    handler = tables.control(Kind.SUSPEND, Kind.RESUME).select(
        "member", "index", "value", "other", "cause", "has_view", "cancelled", _is(Kind.SUSPEND).alias("suspends")
    )
    turns = handler.select(
        "*",
        F.lag("suspends").over(own).alias("was_suspended"),
        F.lag("value").over(own).alias("open_number"),
        F.lag("cause").over(own).alias("open_cause"),
        F.lag("index").over(own).alias("open_index"),
        F.lead("suspends").over(own).alias("next_suspends"),
    )
    suspensions = turns.where("suspends")
    resumes = turns.where("not suspends")
    is_open = F.coalesce("was_suspended", F.lit(False)) & (F.col("open_number") == F.col("value"))
    allowed = F.coalesce(*(F.when(F.col("open_cause") == c, F.col("cause").isin(ends)) for c, ends in CASES.items()))
    strange = resumes.where(is_open & ~F.coalesce(allowed, F.lit(True)))
    ended = F.format_string("a suspension for %s was ended by %s, not one of its causes", "open_cause", "cause")
    return [
        examined(GUARANTEE, suspensions),
        found(GUARANTEE, suspensions.where(~F.col("cause").isin(list(CASES))), F.lit("suspended for no known cause")),
        found(GUARANTEE, suspensions.where("was_suspended"), F.lit("suspended while still suspended")),
        found(GUARANTEE, resumes.where(~is_open), F.lit("resumed what was not suspended")),
        found(GUARANTEE, strange, ended),
        _uncancelled(tables, resumes.where(is_open)),
        _endless(tables, suspensions.where("next_suspends is null")),
    ]


def _is(kind: Kind) -> Column:
    from pyspark.sql import functions as F

    return F.col("kind") == int(kind)


def _uncancelled(tables: Tables, resumes: DataFrame) -> DataFrame:
    """Suspensions that ended without a view and left somebody holding."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    own = Window.partitionBy("member").orderBy("index").rowsBetween(Window.unboundedPreceding, 0)
    with_view = F.coalesce("has_view", F.col("cause").isin("view-installed", "merge-view"))
    events = tables.control(Kind.SUSPEND, Kind.ROLL_CALL)
    asking = events.withColumn("open_index", F.max(F.when(_is(Kind.SUSPEND), F.col("index"))).over(own))
    asking = asking.where(_is(Kind.ROLL_CALL) & F.col("step").isin("start", "again") & F.col("open_index").isNotNull())
    holding = asking.groupBy("member", "open_index").agg(F.flatten(F.collect_list("asked")).alias("holding"))
    told = F.concat(F.coalesce("cancelled", F.array().cast("array<int>")), F.array("member"))
    left = resumes.where(~with_view).join(holding, ["member", "open_index"], how="inner")
    left = left.withColumn("left", F.array_except("holding", told)).where(F.size("left") > 0)
    return found(GUARANTEE, left, F.format_string("no cancel was sent to %d members that hold", F.size("left")))


def _endless(tables: Tables, last: DataFrame) -> DataFrame:
    from pyspark.sql import functions as F

    ends = tables.members.select(F.col("code").alias("member"), "last_ns")
    closed = tables.control(Kind.CLOSED).select("member", (F.coalesce("how", F.lit("")) != "crashed").alias("has_left"))
    last = last.join(ends, "member", how="inner").join(closed, "member", how="left")
    overdue = F.when(F.col("other") > 0, F.col("last_ns") > F.col("other") + GRACE_NS)
    overdue = overdue.otherwise(F.coalesce("has_left", F.lit(False)))
    return found(GUARANTEE, last.where(overdue), F.format_string("a suspension for %s never ended", "cause"))
