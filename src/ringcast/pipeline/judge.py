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

import pyarrow.parquet as pq

from ringcast.checkers import GUARANTEES, Finding, Judgement, Violation, decide
from ringcast.model import Address, Kind
from ringcast.pipeline.codes import STRANGERS
from ringcast.pipeline.ingest import ingest_recordings
from ringcast.pipeline.rules import g01, g03, g04, g05, g06, g07, g08, g09, g10, g13, g14
from ringcast.pipeline.rules.joined import COLUMNS, Tables
from ringcast.pipeline.rules.member import name_of
from ringcast.pipeline.scan import scan
from ringcast.pipeline.tables import Dataset
from ringcast.trace import Recording

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ABSENT = "absent"
ONE_PARTITION_ROWS = 5_000_000

# Each rule with the control events without which it has nothing to say; none: it always has.
JOINED_RULES: dict[str, tuple[Any, tuple[Kind, ...]]] = {
    "G1": (g01.joined, ()),
    "G3": (g03.joined, ()),
    "G4": (g04.joined, (Kind.VIEW,)),
    "G5": (g05.joined, (Kind.VIEW,)),
    "G6": (g06.joined, (Kind.ROLL_CALL, Kind.MERGE)),
    "G7": (g07.joined, (Kind.SUSPEND, Kind.RESUME)),
    "G8": (g08.joined, (Kind.DIGEST,)),
    "G9": (g09.joined, (Kind.MERGE, Kind.DIGEST)),
    "G10": (g10.joined, (Kind.MERGE, Kind.DIGEST)),
    "G13": (g13.joined, (Kind.VIEW,)),
    "G14": (g14.joined, (Kind.WAIT_START, Kind.HEAL)),
}


def judge_recordings(
    spark: SparkSession, recordings: Iterable[Recording], require: Iterable[str] = (), root: Path | None = None
) -> Judgement:
    """Ingest and judge; the tables are kept if `root` says where."""
    recordings = list(recordings)
    if root is not None:
        return judge_dataset(spark, ingest_recordings(spark, recordings, root), require)
    with TemporaryDirectory(prefix="ringcast-") as place:
        return judge_dataset(spark, ingest_recordings(spark, recordings, Path(place)), require)


def judge_dataset(
    spark: SparkSession, dataset: Dataset, require: Iterable[str] = (), chosen: Sequence[str] = GUARANTEES
) -> Judgement:
    tables = load_tables(spark, dataset, scan(spark, dataset, chosen))
    results = _results(tables, _rules_for(dataset, chosen))
    members = dataset.members()
    addresses = [Address(row["name"], row["incarnation"], row["endpoint"]) for row in members]
    findings = _findings(results, addresses)
    absent = _absent(results, members)
    return decide(findings, sum(r["events"] for r in members), sum(r["dropped"] for r in members), absent, require)


def load_tables(spark: SparkSession, dataset: Dataset, facts: DataFrame) -> Tables:
    from pyspark.sql.pandas.types import from_arrow_schema

    from ringcast.pipeline.tables import CONTROL

    rows = [{**row, "label": name_of(row)} for row in dataset.members()]
    names = ("code", "group", "label", "is_whole", "self_delivery", "view_synchrony", "clock", "last_ns")
    schema = "code int, group string, label string, is_whole boolean, self_delivery boolean, view_synchrony boolean, "
    members = spark.createDataFrame([tuple(r[n] for n in names) for r in rows], schema + "clock string, last_ns long")
    control = spark.read.schema(from_arrow_schema(CONTROL)).parquet(str(dataset.root / "control"))
    if _rows(dataset) < ONE_PARTITION_ROWS:
        # In one partition nothing has to be shuffled, so all rules together are one stage.
        members, control, facts = members.coalesce(1), control.coalesce(1), facts.coalesce(1)
    return Tables(members.cache(), control.cache(), facts.cache())


def _rows(dataset: Dataset) -> int:
    paths = [*(dataset.root / "control").glob("*.parquet"), *(dataset.root / "facts").glob("*.parquet")]
    return sum(pq.ParquetFile(path).metadata.num_rows for path in paths)


def _rules_for(dataset: Dataset, chosen: Sequence[str]) -> list[Any]:
    """The joined halves that have something to look at: planning one costs more than running it on little."""
    kinds: set[int] = set()
    for path in (dataset.root / "control").glob("*.parquet"):
        kinds.update(pq.read_table(path, columns=["kind"])["kind"].unique().to_pylist())
    wanted = ((name, rule, needs) for name, (rule, needs) in JOINED_RULES.items() if name in chosen)
    return [rule for _, rule, needs in wanted if not needs or any(kind in kinds for kind in needs)]


def _results(tables: Tables, rules: Sequence[Any]) -> list[Any]:
    from pyspark.sql import functions as F

    local = tables.facts.where(F.col("what").isin("violation", "examined", "lacks", "hidden")).select(*COLUMNS)
    frames = [frame for rule in rules for frame in rule(tables)]
    rows = reduce(lambda a, b: a.unionByName(b), [*frames, _strangers(tables)], local).collect()
    return list(rows)


def _findings(rows: list[Any], addresses: Sequence[Address]) -> dict[str, Finding]:
    examined: defaultdict[str, int] = defaultdict(int)
    violations: defaultdict[str, list[Violation]] = defaultdict(list)
    hidden: defaultdict[str, int] = defaultdict(int)
    lacks: defaultdict[str, dict[str, None]] = defaultdict(dict)
    for row in (row for row in rows if row["guarantee"] != ABSENT):
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


def _strangers(tables: Tables) -> DataFrame:
    """Members of a view who have no recording."""
    from pyspark.sql import functions as F

    views = tables.all_control.where(F.exists(F.coalesce("members", F.array()), lambda code: code >= STRANGERS))
    return tables.lacking(ABSENT, views, F.lit("somebody without a recording"))


def _absent(results: Sequence[Any], members: Sequence[dict[str, Any]]) -> list[str]:
    """Who they are: their codes are private to the recording that speaks of them, their names are not."""
    if not any(row["guarantee"] == ABSENT for row in results):
        return []
    return sorted({name for row in members for name in row["strangers"]})[:10]
