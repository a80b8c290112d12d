"""Runs judged by the rules: the same steps in this process and as a Spark application.

    segments ─ kernels in tasks ─► facts ─ one comparison for each run ─► outcome ─► tables
                                     └── ranges that a comparison wants to see again ── the same kernels ──┘

Spark moves bytes and small rows, numpy judges, and nothing but Spark touches paths. One plan for one run or thousands.
A task has no side effects, so retries, speculation and lost executors are Spark's affair.
"""

from __future__ import annotations

import gc
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ringcast.checkers import Judgement
from ringcast.pipeline.metrics import kernel as metrics_kernel
from ringcast.pipeline.reading import ROWS_AT_ONCE, chosen_files, is_under_way
from ringcast.pipeline.results import TABLES, File, Outcome, from_json, outcome_of, to_json
from ringcast.pipeline.rules.engine import RULES, Comparison, facts_again, facts_of
from ringcast.pipeline.rules.fact import Fact, Wanted, name_of, pack_facts, unpack_facts
from ringcast.pipeline.segment import Segment, decode, header_of, run_of
from ringcast.trace import UNDER_WAY, TraceError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

KERNELS = (*RULES, metrics_kernel)
ROUNDS = 2  # ranges are read again, then the events around what that found
# A row for each segment. `round` is 0 for what kernels find at first, and the number of the round for what was read
# again. A small recording travels as it is (`content` instead of `facts`): who compares its run makes its facts, and
# reads again there what it wants to see again.
ROWS = pa.schema(
    [
        ("run", pa.string()),
        ("path", pa.string()),
        ("bytes", pa.int64()),
        ("round", pa.int32()),
        ("facts", pa.binary()),
        ("content", pa.binary()),
    ]
)
SMALL_BYTES = 1 << 18  # of a recording's first segment: about 25,000 events
RESULTS = pa.schema([("run", pa.string()), ("table", pa.string()), ("rows", pa.binary())])
# Rows of the results that the driver reads.
_JUDGEMENT, _FILLED, _WANTED, _BAD = "judgement", "filled", "wanted", "bad"
_KEPT_BAD = 1000
_FEW = 64
_BATCH_BYTES = 1 << 22  # of facts that a task gives away at once
_COMPRESSED = pa.ipc.IpcWriteOptions(compression="lz4", use_threads=False)  # names and times of a run repeat
Kernels = Callable[[Segment], list[Fact]]


@dataclass(slots=True)
class Found:
    """What is known about the segments of one run: facts by round and path, and the files they come from.

    `contents` has the bytes of segments that are at hand: what is wanted of them is read again here.
    """

    rounds: dict[int, dict[str, list[Fact]]] = field(default_factory=dict)
    files: dict[str, File] = field(default_factory=dict)
    contents: dict[str, bytes] = field(default_factory=dict)

    def add(self, path: str, size: int, facts: list[Fact], round_: int = 0) -> None:
        self.rounds.setdefault(round_, {}).setdefault(path, []).extend(facts)
        if round_ == 0 and path not in self.files:
            self.files[path] = File(path, size)
        for fact in facts:
            if not fact.rule and fact.what == "segment":
                self.files[path] = File(path, size, fact)
            elif fact.what == _BAD:
                self.files[path] = File(path, size, reason=fact.text)

    def add_content(self, path: str, content: bytes, facts: list[Fact]) -> None:
        self.contents[path] = content
        self.add(path, len(content), facts)

    def compare(self) -> tuple[Comparison, list[Wanted]]:
        """The comparison with everything that was read so far and is at hand, and what it still wants."""
        self._leave_out_copies()
        comparison = Comparison(self._facts(0), KERNELS)
        wanted = comparison.wanted
        for round_, judge in enumerate((comparison.again, comparison.show), 1):
            if wanted and round_ not in self.rounds:
                self._read_again(wanted, round_)
            if not wanted or round_ not in self.rounds:
                break
            wanted = judge(self._facts(round_))
        return comparison, wanted

    def _read_again(self, wanted: Sequence[Wanted], round_: int) -> None:
        """Read what is wanted, if all of it is at hand."""
        paths = self.holding(wanted)
        if all(path in self.contents for path in paths):
            self.rounds[round_] = {}
            for path in paths:
                content = self.contents[path]
                self.add(path, len(content), _read(path, content, _again(wanted))[1], round_)

    def holding(self, wanted: Iterable[Wanted]) -> list[str]:
        """The files that hold something of what is wanted."""
        spans: dict[str, list[tuple[int, int]]] = {}
        for want in wanted:
            spans.setdefault(want.member, []).append((want.first_index, want.end_index))
        segments = [(file.path, file.segment) for file in self.files.values() if file.segment and not file.reason]
        return [
            path
            for path, part in segments
            if any(begin < part.first + part.count and end > part.first for begin, end in spans.get(part.member, ()))
        ]

    @property
    def copies(self) -> list[str]:
        """Members with more than one recording in this run."""
        found = {name_of(f.segment.member) for f in self.files.values() if f.segment and f.reason.startswith(_ANOTHER)}
        return sorted(found)

    def _facts(self, round_: int) -> Iterator[Fact]:
        for path, facts in self.rounds.get(round_, {}).items():
            if not self.files[path].reason:
                yield from facts

    def _leave_out_copies(self) -> None:
        """Of a segment that was seen under way and finished only the finished one counts; of two recordings of one
        member, one."""
        homes: dict[str, str] = {}
        kept: dict[tuple[str, int], str] = {}
        for path in sorted(self.files, key=_finished_first):
            file = self.files[path]
            if file.segment is None or file.reason:
                continue
            directory, key = path.rpartition("/")[0], (file.segment.member, file.segment.segment)
            if homes.setdefault(file.segment.member, directory) != directory:
                self.files[path] = replace(file, reason=f"{_ANOTHER} in {homes[file.segment.member]}")
            elif key in kept:
                self.files[path] = replace(file, reason=f"the same segment as {kept[key]}")
            kept.setdefault(key, path)


_ANOTHER = "there is another recording of this member"


def _finished_first(path: str) -> tuple[bool, str]:
    return path.rpartition("/")[2].startswith(UNDER_WAY), path


def judge_files(files: Iterable[tuple[str, bytes]], require: Iterable[str] = ()) -> list[Outcome]:
    """The outcome of each run in these segments (path, content), in this process."""
    require = tuple(require)
    runs: dict[str, Found] = {}
    with _no_collections():
        for path, content in files:
            run, facts = _read(path, content, partial(facts_of, rules=KERNELS))
            runs.setdefault(run, Found()).add_content(path, content, facts)
        return [_outcome(run, found.compare()[0], found, require, "local") for run, found in sorted(runs.items())]


def _outcome(
    run: str, comparison: Comparison, found: Found, require: tuple[str, ...], judge: str, with_tables: bool = True
) -> Outcome:
    outcome = outcome_of(run, comparison, found.files.values(), require, judge, with_tables)
    if found.copies and outcome.judgement.verdict == "held":
        reason = f"two recordings of {', '.join(found.copies)} in one run"
        judgement = replace(outcome.judgement, verdict="unjudged", reasons=[reason])
        outcome.judgement = judgement
        outcome.tables["verdicts"][0] |= {"verdict": "unjudged", "reasons": [reason]}
    return outcome


def _again(wanted: Sequence[Wanted]) -> Kernels:
    return lambda segment: facts_again(segment, wanted, KERNELS)


def _read(path: str, content: bytes, kernels: Kernels) -> tuple[str, list[Fact]]:
    """The run of a segment and what these kernels find in it; a file that is none gives one row that says why."""
    try:
        segment = decode(content, path)
    except TraceError as error:
        return run_of(path), [Fact("", _BAD, "", -1, text=str(error))]
    return segment.header.run, kernels(segment)


@contextmanager
def _no_collections() -> Iterator[None]:
    """Without Python's search for cycles: it walks the many small objects of a segment again and again, a tenth of all
    CPU time, and there are no cycles among them."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


# ---- the same as a Spark application


@dataclass(slots=True)
class Application:
    """Runs judged by Spark. Results are a row for each run and table (Arrow bytes), kept until `close`.

    Without `with_tables` there are only verdicts: metrics and rows of tables are not made.
    """

    files: DataFrame  # path, content
    require: tuple[str, ...] = ()
    with_tables: bool = True
    small_bytes: int = SMALL_BYTES
    _results: list[DataFrame] = field(default_factory=list)
    _kept: list[DataFrame] = field(default_factory=list)  # persisted: to be let go of
    _told: dict[str, _Told] = field(default_factory=dict)

    def judge(self) -> dict[str, Judgement]:
        """The judgement of each run. One job if nothing is to be read again.

        Facts are not kept for that case: where something is to be read again, those of its runs are made again.
        """
        extra: DataFrame | None = None
        facts = self._facts_of(self.files)
        told = self._compared(facts)
        for round_ in range(1, ROUNDS + 1):
            again = {run: one for run, one in told.items() if one.wanted}
            if not again:
                break
            if extra is None:
                paths = [path for one in again.values() for path in one.files]
                facts = self._facts_of(self._chosen(paths)).persist()
                self._kept.append(facts)
            rows = self._read_again(again, round_)
            extra = rows if extra is None else extra.unionByName(rows)
            parts = [only(frame, "run", list(again)) for frame in (facts, extra)]
            told = self._compared(parts[0].unionByName(parts[1]))
            self._results[:-1] = [only(frame, "run", list(again), "left_anti") for frame in self._results[:-1]]
        return {run: self._told[run].judgement for run in sorted(self._told)}

    def table(self, name: str) -> DataFrame:
        """One table of results over all runs."""
        return self._rows(name).select("rows").mapInArrow(_unpack_task, _spark(TABLES[name].schema))

    def outcome(self, run: str, judgement: Judgement) -> Outcome:
        """Everything about one run, brought to the driver."""
        outcome = Outcome(run, judgement, {name: [] for name in TABLES})
        rows = self._rows(*TABLES)
        for row in rows.where(rows["run"] == run).toArrow().to_pylist():
            outcome.tables[row["table"]] = pa.ipc.open_stream(row["rows"]).read_all().to_pylist()
        return outcome

    def filled(self, name: str) -> list[str]:
        """The runs of which this table has rows."""
        return [run for run, told in self._told.items() if name in told.filled]

    def bad_files(self) -> list[tuple[str, str]]:
        """Files that were not read, or not to their end: path and why."""
        return sorted(bad for told in self._told.values() for bad in told.bad)

    def places(self) -> set[str]:
        """The directories that hold recordings which were read."""
        return {place for told in self._told.values() for place in told.places}

    def close(self) -> None:
        """Let go of what was kept. Otherwise a later query over the same directory finds it: a stale verdict."""
        for frame in self._kept:
            frame.unpersist()
        self._kept.clear()

    def _facts_of(self, files: DataFrame) -> DataFrame:
        return files.mapInArrow(_first_task(self._kernels, self.small_bytes), _spark(ROWS))

    def _rows(self, *names: str) -> DataFrame:
        frames = [frame.where(frame["table"].isin(*names)) for frame in self._results]
        return reduce(lambda whole, frame: whole.unionByName(frame), frames)

    def _compared(self, rows: DataFrame) -> dict[str, _Told]:
        described(self.files.sparkSession, "ringcast: judge")
        grouped = rows.repartition(_partitions(rows), "run").groupBy("run")
        task = _comparison_task(self.require, self.with_tables)
        results = grouped.applyInArrow(task, _spark(RESULTS)).persist()
        self._results.append(results)
        self._kept.append(results)
        told = _told(results.where(results["table"].isin(_JUDGEMENT, _FILLED, _WANTED, _BAD)))
        self._told |= told
        return told

    def _read_again(self, again: Mapping[str, _Told], round_: int) -> DataFrame:
        files = self._chosen([path for told in again.values() for path in told.paths])
        wanted = {run: told.wanted for run, told in again.items()}
        return files.mapInArrow(_again_task(round_, wanted), _spark(ROWS))

    def _chosen(self, paths: Sequence[str]) -> DataFrame:
        """Read these files only; a segment under way is as it was when it was listed."""
        if any(map(is_under_way, paths)):
            return only(self.files, "path", paths)
        return chosen_files(self.files.sparkSession, paths)

    @property
    def id(self) -> str:
        """The id of the Spark application, where that is known: not over Connect."""
        context = getattr(self.files.sparkSession, "_sc", None)
        return "" if context is None else str(context.applicationId)

    @property
    def _kernels(self) -> Sequence[ModuleType]:
        return KERNELS if self.with_tables else RULES


@dataclass(slots=True)
class _Told:
    """What the driver hears of one run."""

    judgement: Judgement
    filled: list[str]  # tables that have rows of it
    places: list[str]  # directories that hold recordings of it, besides its name
    wanted: list[Wanted] = field(default_factory=list)
    files: list[str] = field(default_factory=list)  # all of its files, if something is wanted
    paths: list[str] = field(default_factory=list)  # those that hold what is wanted
    bad: list[tuple[str, str]] = field(default_factory=list)


def _told(results: DataFrame) -> dict[str, _Told]:
    parts: dict[str, dict[str, bytes]] = {}
    for row in results.toArrow().to_pylist():
        parts.setdefault(row["run"], {})[row["table"]] = row["rows"]
    found = {}
    for run, rows in parts.items():
        told = _Told(from_json(rows[_JUDGEMENT].decode()), *json.loads(rows[_FILLED]))
        if _WANTED in rows:
            wanted, told.paths, told.files = json.loads(rows[_WANTED])
            told.wanted = [Wanted(*want) for want in wanted]
        told.bad = [(path, reason) for path, reason in json.loads(rows[_BAD])] if _BAD in rows else []
        found[run] = told
    return found


def described(spark: SparkSession, what: str) -> None:
    """Say in Spark's web page what the next jobs are for; Connect has no such way."""
    context = getattr(spark, "_sc", None)
    if context is not None:
        context.setJobDescription(what)


def only(frame: DataFrame, column: str, values: Sequence[str], how: str = "left_semi") -> DataFrame:
    """The rows with one of these values (or, left_anti, without): by a join if they are many."""
    if len(values) <= _FEW:
        is_in = frame[column].isin(*values)
        return frame.where(is_in if how == "left_semi" else ~is_in)
    from pyspark.sql import functions as F

    chosen = frame.sparkSession.createDataFrame(pa.table({column: pa.array(values, pa.string())}))
    return frame.join(F.broadcast(chosen), column, how)


def rule_steps() -> list[tuple[str, Kernels]]:
    """Each kernel by its name: what one rule does with one segment."""
    return [(rule.GUARANTEE, partial(facts_of, rules=(rule,))) for rule in KERNELS]


def runs_of(files: DataFrame) -> list[str]:
    """The runs that these segments belong to."""
    rows = files.select("path", "content").mapInArrow(_run_task, "run string").distinct().collect()
    return sorted(row["run"] for row in rows)


def _run_task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        files = zip(batch.column("path").to_pylist(), batch.column("content"), strict=True)
        yield pa.RecordBatch.from_pydict({"run": [_header(path, content.as_buffer())[0] for path, content in files]})


def _header(path: str, content: bytes) -> tuple[str, int]:
    """The run and the number of a segment; a file that is none has number -1."""
    try:
        header = header_of(content, path)
    except TraceError:
        return run_of(path), -1
    return header.run, header.number


def _first_task(rules: Sequence[ModuleType], small_bytes: int) -> Any:
    """Each segment as what the kernels find in it, or whole."""
    kernels = partial(facts_of, rules=rules)

    def row(path: str, content: pa.Buffer) -> tuple[Any, ...]:
        if len(content) <= small_bytes:
            run, number = _header(path, content)
            if number == 0:
                return run, path, len(content), 0, None, content.to_pybytes()
        run, facts = _read(path, content, kernels)
        return run, path, len(content), 0, pack_facts(facts), None

    return partial(_rows_of, row)


def _again_task(round_: int, wanted: Mapping[str, Sequence[Wanted]]) -> Any:
    """Each segment as what is wanted of it."""

    def kernels(segment: Segment) -> list[Fact]:
        return facts_again(segment, wanted.get(segment.header.run, ()), KERNELS)

    def row(path: str, content: pa.Buffer) -> tuple[Any, ...]:
        run, facts = _read(path, content, kernels)
        return run, path, len(content), round_, pack_facts(facts), None

    return partial(_rows_of, row)


def _rows_of(
    row: Callable[[str, pa.Buffer], tuple[Any, ...]], batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        rows, size = [], 0
        for path, content in zip(batch.column("path").to_pylist(), batch.column("content"), strict=True):
            with _no_collections():
                rows.append(row(path, content.as_buffer()))
            size += len(rows[-1][-1] or rows[-1][-2])
            if size > _BATCH_BYTES:
                yield _batch(ROWS, rows)
                rows, size = [], 0
        if rows:
            yield _batch(ROWS, rows)


def _batch(schema: pa.Schema, rows: Sequence[Sequence[Any]]) -> pa.RecordBatch:
    columns = [pa.array(c, f.type) for c, f in zip(zip(*rows, strict=True), schema, strict=True)]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _comparison_task(require: tuple[str, ...], with_tables: bool) -> Any:
    rules = KERNELS if with_tables else RULES

    def run(given: pa.Table) -> pa.Table:
        name, found = given.column("run")[0].as_py(), Found()
        with _no_collections():
            rounds, paths = (given.column(name).to_pylist() for name in ("round", "path"))
            for round_, path, at in sorted(zip(rounds, paths, range(len(given)), strict=True)):
                content, facts = (given.column(name)[at].as_buffer() for name in ("content", "facts"))
                if content is not None:
                    data = content.to_pybytes()
                    found.add_content(path, data, _read(path, data, partial(facts_of, rules=rules))[1])
                else:  # one segment at a time: all of them as they travel may be some hundred megabytes
                    found.add(path, given.column("bytes")[at].as_py(), unpack_facts(facts), round_)
            comparison, wanted = found.compare()
            outcome = _outcome(name, comparison, found, require, "spark", with_tables)
            rows = _told_of(outcome, comparison, wanted, found, with_tables)
        return pa.Table.from_batches([_batch(RESULTS, [(name, *row) for row in rows.items()])])

    return run


def _told_of(
    outcome: Outcome, comparison: Comparison, wanted: Sequence[Wanted], found: Found, with_tables: bool
) -> dict[str, bytes]:
    # Files that are no recordings are told, but they are not a run.
    names = TABLES if any(part.members_by_key for part in comparison.runs) else ("segments",)
    rows = {table: _packed(outcome.batch(table)) for table in names if with_tables and outcome.tables[table]}
    read = [file.path for file in found.files.values() if file.segment and not file.reason]
    rows[_FILLED] = json.dumps([list(rows), sorted({run_of(path) for path in read} - {outcome.run})]).encode()
    rows[_JUDGEMENT] = to_json(outcome.judgement).encode()
    if wanted:
        rows[_WANTED] = json.dumps([wanted, found.holding(wanted), list(found.files)]).encode()
    bad = [(row["path"], row["reason"]) for row in outcome.tables["segments"] if row["reason"]]
    if bad:
        rows[_BAD] = json.dumps(bad[:_KEPT_BAD]).encode()
    return rows


def _unpack_task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:  # many small runs as one: what each batch costs is the same for one row or thousands
        tables = [pa.ipc.open_stream(rows.as_buffer()).read_all() for rows in batch.column("rows")]
        if tables:
            yield from pa.concat_tables(tables).combine_chunks().to_batches(max_chunksize=ROWS_AT_ONCE)


def _packed(batch: pa.RecordBatch) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema, options=_COMPRESSED) as writer:
        writer.write_batch(batch)
    return bytes(sink.getvalue())


def _partitions(rows: DataFrame) -> int:
    """As many as there are cores, if that is less than what is set: a cluster's 200 cost more to start than to run."""
    session = rows.sparkSession
    most = int(session.conf.get("spark.sql.shuffle.partitions") or 1)
    context = getattr(session, "_sc", None)
    return most if context is None else min(most, max(1, context.defaultParallelism))


def _spark(schema: pa.Schema) -> Any:
    from pyspark.sql.pandas.types import from_arrow_schema

    return from_arrow_schema(schema)
