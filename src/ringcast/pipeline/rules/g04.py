"""G4, views. Joined half only: views are few.

Ids grow at a member iff each is greater than the one before it (`lag`); "one content" holds iff everybody's content
equals that of the first who installed the id, because equality is transitive. Codes are in the order of addresses, so
they compare as creators do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ringcast.model import Kind
from ringcast.pipeline.rules.joined import Tables, examined, found

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

GUARANTEE = "G4"


def joined(tables: Tables) -> list[DataFrame]:
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    own = Window.partitionBy("member").orderBy("index")
    same_id = Window.partitionBy("number", "number_creator").orderBy("member", "index")
    all_views = tables.control(Kind.VIEW)
    views = all_views.where("members is not null and number is not null").select(
        "member",
        "index",
        "members",
        F.struct("number", "number_creator").alias("id"),
        F.lag(F.struct("number", "number_creator")).over(own).alias("before"),
        F.when(F.col("previous_number").isNotNull(), F.struct("previous_number", "previous_creator")).alias("said"),
        F.struct("members", "observers", "subgroups", "capacity").alias("content"),
        F.first(F.struct("members", "observers", "subgroups", "capacity")).over(same_id).alias("first_content"),
        F.first("member").over(same_id).alias("peer"),
    )
    number = F.col("id.number")
    shrinking = views.where(F.col("before").isNotNull() & (F.col("id") <= F.col("before")))
    astray = views.where(F.col("said").isNotNull() & ~_same(F.col("said"), F.col("before")))
    outside = views.where(~F.array_contains("members", F.col("member")))
    unlike = views.where(~F.col("content").eqNullSafe(F.col("first_content")))
    grew = F.format_string("view %d was installed after view %d: ids only grow", number, F.col("before.number"))
    return [
        examined(GUARANTEE, views),
        found(GUARANTEE, shrinking.drop("peer"), grew),
        found(GUARANTEE, astray.drop("peer"), F.format_string("view %d does not follow the view it names", number)),
        found(GUARANTEE, outside.drop("peer"), F.format_string("view %d was installed by who is not in it", number)),
        found(GUARANTEE, unlike, F.format_string("view %d has two contents", number)),
        tables.lacking(
            GUARANTEE, all_views.where("members is null or number is null"), F.lit("a VIEW without content")
        ),
    ]


def _same(said: Column, before: Column) -> Column:
    from pyspark.sql import functions as F

    return F.coalesce(
        (said["previous_number"] == before["number"]) & (said["previous_creator"] == before["number_creator"]),
        F.lit(False),
    )
