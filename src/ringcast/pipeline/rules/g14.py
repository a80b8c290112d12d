"""G14, nothing blocks for ever. Joined half only: waits, views and faults are few.

A wait is over at its WAIT_END, or not at all. Everywhere it must be over by its own limit, and only a send may have
none. After the last HEAL, if no FAULT follows, each wait of a live member must be over within the bound, counted from
its start or the heal, whichever is later; and at the horizon all live members are in one view, installed before heal
+ bound. The horizon is the moment when the first live member ends or begins to leave: what happens then is no longer
undisturbed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ringcast.model import Kind
from ringcast.pipeline.rules.joined import Tables, examined, found

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

GUARANTEE = "G14"
GRACE_NS = 1_000_000_000
DEFAULT_BOUND_NS = 60_000_000_000


def joined(tables: Tables) -> list[DataFrame]:
    from pyspark.sql import functions as F

    waits = _waits(tables)
    unlimited = waits.where((F.col("other") == 0) & ~F.col("what").isin("send", "order"))
    late = waits.where((F.col("other") > 0) & (F.col("end_ns") > F.col("other") + GRACE_NS))
    heal = _heal(tables)
    live = _live(tables, heal)
    none = _one_row(tables).join(live.select("member").limit(1), how="left").where("member is null")
    reason = F.lit("no HEAL that no FAULT follows, or no recording that reaches beyond its bound")
    return [
        examined(GUARANTEE, waits),
        found(GUARANTEE, unlimited, F.format_string("waits for %s without a limit", "what")),
        found(GUARANTEE, late, F.format_string("waited for %s beyond its own limit", "what")),
        tables.lacking(GUARANTEE, none.withColumn("index", F.lit(0)), reason),
        *_after_heal(tables, waits, live),
    ]


def _one_row(tables: Tables) -> DataFrame:
    return tables.members.select("label").limit(1)


def _waits(tables: Tables) -> DataFrame:
    from pyspark.sql import functions as F

    ends = tables.control(Kind.WAIT_END).groupBy("member", "value").agg(F.min("t_ns").alias("over_ns"))
    last = tables.members.select(F.col("code").alias("member"), "last_ns")
    starts = tables.control(Kind.WAIT_START).select("member", "index", "t_ns", "value", "other", "what")
    waits = starts.join(ends, ["member", "value"], how="left").join(last, "member", how="inner")
    return waits.withColumn("end_ns", F.coalesce("over_ns", "last_ns"))


def _heal(tables: Tables) -> DataFrame:
    """For each group at most one row (heal_ns, bound_ns)."""
    from pyspark.sql import functions as F

    groups = tables.members.select(F.col("code").alias("member"), "group")
    told = tables.control(Kind.FAULT, Kind.HEAL).join(groups, "member", how="inner")
    is_heal = F.col("kind") == int(Kind.HEAL)
    bound = F.when(F.col("value") > 0, F.col("value")).otherwise(DEFAULT_BOUND_NS)
    heal = F.struct(F.col("t_ns").alias("heal_ns"), bound.alias("bound_ns"))
    last = told.groupBy("group").agg(
        F.max(F.when(is_heal, heal)).alias("heal"),
        F.coalesce(F.max(F.when(~is_heal, F.col("t_ns"))), F.lit(-1)).alias("fault_ns"),
    )
    return last.where(F.col("fault_ns") <= F.col("heal.heal_ns")).select("group", "heal.heal_ns", "heal.bound_ns")


def _live(tables: Tables, heal: DataFrame) -> DataFrame:
    """Members whose recordings reach beyond the bound, with the horizon."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    crashed = tables.control(Kind.CLOSED).where("how = 'crashed'").select("member")
    viewed = tables.control(Kind.VIEW).select("member").distinct()
    members = tables.members.select(F.col("code").alias("member"), "group", "last_ns")
    members = members.join(crashed, "member", how="left_anti")
    live = members.join(viewed, "member", how="left_semi").join(heal, "group", how="inner")
    live = live.withColumn("settled_ns", F.col("heal_ns") + F.col("bound_ns")).where("last_ns >= settled_ns")
    leaves = tables.control(Kind.WAIT_START).where("what = 'leave'").select("member", F.col("t_ns").alias("leave_ns"))
    live = live.join(leaves, "member", how="left").withColumn(
        "quiet_ns", F.least("last_ns", F.when(F.col("leave_ns") >= F.col("settled_ns"), F.col("leave_ns")))
    )
    live = live.groupBy("group", "member", "heal_ns", "bound_ns", "settled_ns").agg(F.min("quiet_ns").alias("quiet_ns"))
    return live.withColumn("horizon_ns", F.min("quiet_ns").over(Window.partitionBy("group")))


def _after_heal(tables: Tables, waits: DataFrame, live: DataFrame) -> list[DataFrame]:
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    due = F.greatest("t_ns", "heal_ns") + F.col("bound_ns")
    judged = waits.join(live, "member", how="inner")
    stuck = judged.where(F.least(F.coalesce("over_ns", "horizon_ns"), "horizon_ns") > due)
    newest = Window.partitionBy("member").orderBy(F.desc("index"))
    views = tables.control(Kind.VIEW).join(live, "member", how="inner").where("t_ns <= horizon_ns")
    finals = views.withColumn("turn", F.row_number().over(newest)).where("turn = 1")
    finals = finals.select("group", "member", "index", "t_ns", "settled_ns", "number", "number_creator")
    first = Window.partitionBy("group").orderBy("member")
    final_id = F.struct("number", "number_creator")
    finals = finals.withColumn("shared", F.first(final_id).over(first)).withColumn("final", final_id)
    unshared = finals.where(F.col("final") != F.col("shared"))
    return [
        examined(GUARANTEE, finals),
        found(GUARANTEE, stuck, F.format_string("still waited for %s long after nothing disturbed it", "what")),
        found(GUARANTEE, unshared, F.format_string("ended in view %d, others in view %d", "number", "shared.number")),
        found(GUARANTEE, finals.where("t_ns > settled_ns"), F.lit("still changed its view after the bound")),
    ]
