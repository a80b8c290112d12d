"""The verdict over tables: local halves, joined halves, and the same words as the checkers use.

Everything that the joined halves find is one small union, so it is one Spark job.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import reduce
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from ringcast.checkers import GUARANTEES, Finding, Judgement, Violation, decide
from ringcast.model import Address
from ringcast.pipeline.codes import STRANGERS
from ringcast.pipeline.ingest import ingest
from ringcast.pipeline.rules import g01, g03, g05
from ringcast.pipeline.rules.joined import COLUMNS, Tables
from ringcast.pipeline.rules.member import name_of
from ringcast.pipeline.scan import scan
from ringcast.pipeline.tables import Dataset
from ringcast.trace import Recording

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

JOINED_RULES: dict[str, Any] = {"G1": g01.joined, "G3": g03.joined, "G5": g05.joined}


def judge_recordings(
    spark: SparkSession, recordings: Iterable[Recording], require: Iterable[str] = (), root: Path | None = None
) -> Judgement:
    """Ingest and judge; the tables are kept if `root` says where."""
    recordings = list(recordings)
    if root is not None:
        return judge_dataset(spark, ingest(spark, recordings, root), require)
    with TemporaryDirectory(prefix="ringcast-") as place:
        return judge_dataset(spark, ingest(spark, recordings, Path(place)), require)


def judge_dataset(
    spark: SparkSession, dataset: Dataset, require: Iterable[str] = (), chosen: Sequence[str] = GUARANTEES
) -> Judgement:
    tables = load_tables(spark, dataset, scan(spark, dataset, chosen))
    results = _results(tables, chosen)
    members = dataset.members()
    addresses = [Address(row["name"], row["incarnation"], row["endpoint"]) for row in members]
    findings = _findings(results, addresses)
    absent = _absent(tables, members)
    return decide(findings, sum(r["events"] for r in members), sum(r["dropped"] for r in members), absent, require)


def load_tables(spark: SparkSession, dataset: Dataset, facts: DataFrame) -> Tables:
    from pyspark.sql.pandas.types import from_arrow_schema

    from ringcast.pipeline.tables import CONTROL

    rows = [{**row, "label": name_of(row)} for row in dataset.members()]
    names = ("code", "label", "is_whole", "self_delivery", "view_synchrony", "clock", "last_ns")
    schema = "code int, label string, is_whole boolean, self_delivery boolean, view_synchrony boolean, "
    members = spark.createDataFrame([tuple(r[n] for n in names) for r in rows], schema + "clock string, last_ns long")
    control = spark.read.schema(from_arrow_schema(CONTROL)).parquet(str(dataset.root / "control"))
    return Tables(members.cache(), control.cache(), facts.cache())


def _results(tables: Tables, chosen: Sequence[str]) -> list[Any]:
    from pyspark.sql import functions as F

    local = tables.facts.where(F.col("what").isin("violation", "examined", "lacks", "hidden")).select(*COLUMNS)
    frames = [frame for name, rule in JOINED_RULES.items() if name in chosen for frame in rule(tables)]
    return reduce(lambda a, b: a.unionByName(b), frames, local).collect()


def _findings(rows: list[Any], addresses: Sequence[Address]) -> dict[str, Finding]:
    examined: defaultdict[str, int] = defaultdict(int)
    violations: defaultdict[str, list[Violation]] = defaultdict(list)
    hidden: defaultdict[str, int] = defaultdict(int)
    lacks: defaultdict[str, dict[str, None]] = defaultdict(dict)
    for row in rows:
        name = row["guarantee"]
        if row["what"] == "examined":
            examined[name] += row["value"] or 0
        elif row["what"] == "hidden":
            hidden[name] += row["value"]
        elif row["what"] == "lacks":
            lacks[name][row["sentence"]] = None
        else:
            violations[name].append(_violation(row, addresses))
    return {
        name: Finding(
            name,
            examined[name],
            sorted(violations[name], key=lambda v: (v.members, v.index))[:100],
            len(violations[name]) + hidden[name],
            list(lacks[name])[:10],
        )
        for name in GUARANTEES
    }


def _violation(row: Any, addresses: Sequence[Address]) -> Violation:
    members = tuple(addresses[code] for code in (row["member"], row["peer"]) if 0 <= code < len(addresses))
    return Violation(row["guarantee"], members, row["index"], row["sentence"])


def _absent(tables: Tables, members: Sequence[dict[str, Any]]) -> list[Address]:
    """Members of a view who have no recording. Their codes are private to who speaks of them; their names are not."""
    from pyspark.sql import functions as F

    codes = tables.all_control.select(F.explode("members").alias("code")).where(F.col("code") >= STRANGERS)
    if codes.limit(1).count() == 0:
        return []
    return [Address(name, 0, "") for row in members for name in row["strangers"]][:10]
