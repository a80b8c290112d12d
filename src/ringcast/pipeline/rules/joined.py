"""The small tables that the joined halves of rules work on, and the shape of what they give back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from ringcast.model import Kind

COLUMNS = ("what", "guarantee", "member", "peer", "index", "value", "sentence")


@dataclass(frozen=True, slots=True)
class Tables:
    """`members` has a `label` (the printed address) beside the columns of the members table."""

    members: DataFrame
    all_control: DataFrame
    facts: DataFrame

    def control(self, *kinds: Kind) -> DataFrame:
        return self.all_control.where(self.all_control["kind"].isin([int(kind) for kind in kinds]))

    def fact(self, what: str) -> DataFrame:
        return self.facts.where(self.facts["what"] == what)

    def lacking(self, guarantee: str, rows: DataFrame, sentence: Column) -> DataFrame:
        """Each of these rows is a record that was needed and is not there."""
        return _result("lacks", guarantee, rows, sentence)


def found(guarantee: str, rows: DataFrame, sentence: Column) -> DataFrame:
    """Each of these rows is a violation, told by `sentence`."""
    return _result("violation", guarantee, rows, sentence)


def examined(guarantee: str, rows: DataFrame) -> DataFrame:
    """The number of these rows is how much was looked at."""
    from pyspark.sql import functions as F

    counted = rows.agg(F.count(F.lit(1)).alias("value"))
    nothing = {"member": "int", "peer": "int", "index": "long", "sentence": "string"}
    counted = counted.select("value", *(F.lit(None).cast(kind).alias(name) for name, kind in nothing.items()))
    return counted.select(F.lit("examined").alias("what"), F.lit(guarantee).alias("guarantee"), *COLUMNS[2:])


def _result(what: str, guarantee: str, rows: DataFrame, sentence: Column) -> DataFrame:
    from pyspark.sql import functions as F

    peer = F.col("peer") if "peer" in rows.columns else F.lit(-1)
    return rows.select(
        F.lit(what).alias("what"),
        F.lit(guarantee).alias("guarantee"),
        F.col("member").cast("int").alias("member"),
        F.coalesce(peer, F.lit(-1)).cast("int").alias("peer"),
        F.coalesce(F.col("index"), F.lit(0)).cast("long").alias("index"),
        F.lit(1).cast("long").alias("value"),
        sentence.alias("sentence"),
    )
