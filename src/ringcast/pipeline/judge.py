"""The verdict over tables: local halves, joined halves, and the same words as the checkers use."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ringcast.checkers import GUARANTEES, Finding, Judgement, Violation, decide
from ringcast.model import Address, Kind
from ringcast.pipeline.codes import STRANGERS
from ringcast.pipeline.ingest import ingest_recordings
from ringcast.pipeline.rules import g01, g03, g04, g05, g06, g07, g08, g09, g10, g13, g14
from ringcast.pipeline.rules.facts import FACTS, Facts
from ringcast.pipeline.rules.joined import Tables, load_tables
from ringcast.pipeline.scan import scan, scan_here, slots_of
from ringcast.pipeline.tables import Dataset
from ringcast.trace import Recording

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

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
    """Two jobs: the local halves over all events, then the joined halves over what they left."""
    scan(spark, dataset, chosen)
    shares = _share_rules(_rules_for(dataset, chosen), slots_of(spark))
    tasks = spark.range(0, len(shares), 1, len(shares))
    told = tasks.mapInArrow(_task(str(dataset.root), shares), _spark_schema()).collect()
    return _decided(dataset, [row.asDict() for row in told] + _told(dataset.read_facts()), require)


def judge_here(dataset: Dataset, require: Iterable[str] = (), chosen: Sequence[str] = GUARANTEES) -> Judgement:
    """The same in this process: for what is small, and inside a task that judges many runs."""
    found = scan_here(dataset, chosen)
    joined = join_rules(load_tables(dataset, found), _rules_for(dataset, chosen))
    return _decided(dataset, _told([*found, pa.Table.from_batches([joined])]), require)


def join_rules(tables: Tables, names: Sequence[str]) -> pa.RecordBatch:
    """What the joined halves of these rules find."""
    facts = Facts()
    for name in names:
        JOINED_RULES[name][0](tables, facts)
    return facts.batch()


def _told(facts: Sequence[pa.Table]) -> list[dict[str, Any]]:
    """The rows that speak about guarantees."""
    wanted = pa.array(["violation", "examined", "lacks", "hidden"])
    return [row for table in facts for row in table.filter(pc.is_in(table["what"], wanted)).to_pylist()]


def _rules_for(dataset: Dataset, chosen: Sequence[str]) -> list[str]:
    """The joined halves that have something to look at."""
    kinds: set[int] = set()
    for path in (dataset.root / "control").glob("*.parquet"):
        kinds.update(pq.read_table(path, columns=["kind"])["kind"].unique().to_pylist())
    wanted = ((name, needs) for name, (_, needs) in JOINED_RULES.items() if name in chosen)
    return [name for name, needs in wanted if not needs or any(kind in kinds for kind in needs)]


def _share_rules(names: Sequence[str], slots: int) -> list[list[str]]:
    count = max(1, min(slots, len(names)))
    return [list(names[slot::count]) for slot in range(count)]


def _task(root: str, shares: Sequence[Sequence[str]]) -> Any:
    def run(rows: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        dataset = Dataset(Path(root))
        for batch in rows:
            for slot in batch.column("id").to_pylist():
                yield join_rules(load_tables(dataset, dataset.read_facts()), shares[slot])

    return run


def _spark_schema() -> Any:
    from pyspark.sql.pandas.types import from_arrow_schema

    return from_arrow_schema(FACTS)


def _decided(dataset: Dataset, told: list[dict[str, Any]], require: Iterable[str]) -> Judgement:
    members = dataset.members()
    addresses = [Address(row["name"], row["incarnation"], row["endpoint"]) for row in members]
    events, dropped = sum(r["events"] for r in members), sum(r["dropped"] for r in members)
    return decide(_findings(told, addresses), events, dropped, _absent(dataset, members), require)


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


def _absent(dataset: Dataset, members: Sequence[dict[str, Any]]) -> list[str]:
    """Members of a view who have no recording. Their codes are private to the recording that speaks of them."""
    if not any(row["strangers"] for row in members):
        return []
    for row in members:
        codes = pq.read_table(dataset.control(row["code"]), columns=["members"])["members"]
        if (pc.max(pc.list_flatten(codes)).as_py() or 0) >= STRANGERS:
            return sorted({name for row in members for name in row["strangers"]})[:10]
    return []
