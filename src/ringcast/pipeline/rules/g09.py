"""G9, merge is whole. Joined half only: merges are few.

Whole: no member of a MergeView is without an entry in its digest (a set difference). Maximum: the join of entries is
the maximum of each figure, so at the leader each entry of the view equals the maxima of what entered its
consolidation; another coordinator knows only a part, so there it is at least those.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ringcast.model import Kind
from ringcast.pipeline.rules.joined import Tables, examined, found

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

GUARANTEE = "G9"


def joined(tables: Tables) -> list[DataFrame]:
    from pyspark.sql import functions as F

    merges = tables.control(Kind.VIEW).where(F.size(F.coalesce("subgroups", F.array())) > 0)
    merges = merges.select("member", "index", "number", "members", "merge_id", "digest")
    have = F.transform(F.coalesce("digest", F.array()), lambda entry: entry["member"])
    partial = merges.where(F.size(F.array_except("members", have)) > 0)
    whole = F.format_string("the MergeView %d has no digest entry for some of its members", "number")
    return [examined(GUARANTEE, merges), found(GUARANTEE, partial, whole), _not_the_maximum(tables, merges)]


def _not_the_maximum(tables: Tables, merges: DataFrame) -> DataFrame:
    from pyspark.sql import functions as F

    key = ["member", "merge_id", "peer"]
    said = tables.control(Kind.DIGEST).where(F.coalesce(F.col("about"), F.lit("member")) != "going-away")
    most = said.groupBy(*key).agg(
        F.max("first").alias("low"), F.max("value").alias("high"), F.max("other").alias("got")
    )
    leads = tables.control(Kind.MERGE).where("step = 'start'").select("member", "merge_id").distinct()
    leads = leads.withColumn("is_leader", F.lit(True))
    entries = merges.select("member", "index", "number", "members", "merge_id", F.explode("digest").alias("entry"))
    entries = entries.withColumn("peer", F.col("entry.member")).where(F.array_contains("members", F.col("peer")))
    both = entries.join(most, key, how="inner").join(leads, ["member", "merge_id"], how="left")
    pairs = (("entry.low", "low"), ("entry.delivered", "high"), ("entry.received", "got"))
    below = F.greatest(*((F.col(entry) < F.col(top)) for entry, top in pairs))
    unlike = F.greatest(*((F.col(entry) != F.col(top)) for entry, top in pairs))
    wrong = both.where(below | (F.coalesce("is_leader", F.lit(False)) & unlike))
    told = F.format_string(
        "the MergeView %d has %d for a member, the maximum said was %d", "number", "entry.delivered", "high"
    )
    return found(GUARANTEE, wrong, told)
