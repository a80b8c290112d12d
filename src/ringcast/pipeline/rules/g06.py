"""G6, separation. Joined half only.

In the order of a member's events, a view change is open from ROLL_CALL `start` (purpose `view`) to the next `end`, a
merge from its first `start` or `accept` to its `end`. Two intervals overlap iff one begins while the other is open;
so it is enough to know, at each beginning, what is open: the last step of a view change, and begun minus ended
merges. Linear, no join of intervals.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ringcast.model import Kind
from ringcast.pipeline.rules.joined import Tables, examined, found

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

GUARANTEE = "G6"


def joined(tables: Tables) -> list[DataFrame]:
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    steps = tables.control(Kind.ROLL_CALL, Kind.MERGE).select("member", "index", "kind", "step", "purpose", "merge_id")
    is_merge = F.col("kind") == int(Kind.MERGE)
    is_begin = F.col("step").isin("start", "accept")
    is_end = F.col("step") == "end"
    # A merge has steps between its beginning and its end; only the first of each of these two counts.
    same_merge = Window.partitionBy("member", "kind", "merge_id", is_begin, is_end).orderBy("index")
    earlier = Window.partitionBy("member").orderBy("index").rowsBetween(Window.unboundedPreceding, -1)
    steps = steps.withColumn("turn", F.row_number().over(same_merge))
    is_new = is_merge & is_begin & (F.col("turn") == 1)
    is_over = is_merge & is_end & (F.col("turn") == 1)
    begins = ~is_merge & (F.col("step") == "start") & (F.col("purpose") == "view")
    ends = ~is_merge & is_end
    steps = steps.select(
        "member",
        "index",
        "merge_id",
        begins.alias("is_change"),
        is_new.alias("is_new"),
        F.last(F.when(begins, F.lit(True)).when(ends, F.lit(False)), ignorenulls=True).over(earlier).alias("changing"),
        F.sum(F.when(is_new, 1).when(is_over, -1).otherwise(0)).over(earlier).alias("merging"),
    )
    merge_inside = steps.where("is_new and changing")
    change_inside = steps.where("is_change and merging > 0")
    return [
        examined(GUARANTEE, steps.where("is_new or is_change")),
        found(GUARANTEE, merge_inside, F.format_string("merge %s began while a view change ran", "merge_id")),
        found(GUARANTEE, change_inside, F.lit("a view change began while a merge ran")),
    ]
