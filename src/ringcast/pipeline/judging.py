"""Runs judged by the rules: the same steps in this process and as a Spark application.

    segments ─ kernels in tasks ─► facts ─ one comparison for each run ─► outcome ─► tables
                                     └── ranges that a comparison wants to see again ── the same kernels ──┘

Spark moves bytes and small rows, numpy judges, and nothing but Spark touches paths. One plan for one run or thousands.
A task has no side effects, so retries, speculation and lost executors are Spark's affair.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ringcast.checkers import Judgement
from ringcast.pipeline.metrics import kernel as metrics_kernel
from ringcast.pipeline.results import TABLES, File, Outcome, from_json, outcome_of, to_json
from ringcast.pipeline.rules.arrow import FACTS, batch_of, facts_in
from ringcast.pipeline.rules.engine import RULES, Comparison, facts_again, facts_of
from ringcast.pipeline.rules.fact import Fact, Wanted, name_of
from ringcast.pipeline.segment import Segment, decode, run_of
from ringcast.trace import UNDER_WAY, TraceError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

KERNELS = (*RULES, metrics_kernel)
ROUNDS = 2  # ranges are read again, then the events around what that found
# `round` is 0 for what kernels find at first, and the number of the round for what was read again.
ROWS = pa.schema([("path", pa.string()), ("bytes", pa.int64()), ("round", pa.int32()), *FACTS])
RESULTS = pa.schema([("run", pa.string()), ("table", pa.string()), ("rows", pa.binary())])
_JUDGEMENT, _WANTED, _BAD = "judgement", "wanted", "bad"
_KEPT_BAD = 1000
Kernels = Callable[[Segment], list[Fact]]


@dataclass(slots=True)
class Found:
    """What is known about the segments of one run: facts by round and path, and the files they come from."""

    rounds: dict[int, dict[str, list[Fact]]] = field(default_factory=dict)
    files: dict[str, File] = field(default_factory=dict)

    def add(self, path: str, size: int, facts: list[Fact], round_: int = 0) -> None:
        self.rounds.setdefault(round_, {}).setdefault(path, []).extend(facts)
        if round_ == 0 and path not in self.files:
            self.files[path] = File(path, size)
        for fact in facts:
            if not fact.rule and fact.what == "segment":
                self.files[path] = File(path, size, fact)
            elif fact.what == _BAD:
                self.files[path] = File(path, size, reason=fact.text)

    def compare(self) -> tuple[Comparison, list[Wanted]]:
        """The comparison with everything that was read so far, and what it still wants."""
        self._leave_out_copies()
        comparison = Comparison(self._facts(0), KERNELS)
        wanted = comparison.wanted
        if wanted and 1 in self.rounds:
            wanted = comparison.again(self._facts(1))
            if wanted and 2 in self.rounds:
                comparison.show(self._facts(2))
                wanted = []
        return comparison, wanted

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
    require, files = tuple(require), list(files)
    runs: dict[str, list[tuple[str, bytes]]] = {}
    found: dict[str, Found] = {}
    for path, content in files:
        run, facts = _read(path, content, _first)
        found.setdefault(run, Found()).add(path, len(content), facts)
        runs.setdefault(run, []).append((path, content))
    return [_judged(run, found[run], runs[run], require) for run in sorted(found)]


def _judged(run: str, found: Found, files: Sequence[tuple[str, bytes]], require: tuple[str, ...]) -> Outcome:
    comparison, wanted = found.compare()
    for round_ in range(1, ROUNDS + 1):
        if not wanted:
            break
        for path, content in files:
            found.add(path, len(content), _read(path, content, _Again(wanted))[1], round_)
        comparison, wanted = found.compare()
    return _outcome(run, comparison, found, require, "local")


def _outcome(run: str, comparison: Comparison, found: Found, require: tuple[str, ...], judge: str) -> Outcome:
    outcome = outcome_of(run, comparison, found.files.values(), require, judge)
    if found.copies and outcome.judgement.verdict == "held":
        reason = f"two recordings of {', '.join(found.copies)} in one run"
        judgement = replace(outcome.judgement, verdict="unjudged", reasons=[reason])
        outcome.judgement = judgement
        outcome.tables["verdicts"][0] |= {"verdict": "unjudged", "reasons": [reason]}
    return outcome


def _first(segment: Segment) -> list[Fact]:
    return facts_of(segment, KERNELS)


@dataclass(frozen=True, slots=True)
class _Again:
    wanted: Sequence[Wanted]

    def __call__(self, segment: Segment) -> list[Fact]:
        return facts_again(segment, self.wanted, KERNELS)


def _read(path: str, content: bytes, kernels: Kernels) -> tuple[str, list[Fact]]:
    """The run of a segment and what these kernels find in it; a file that is none gives one row that says why."""
    try:
        segment = decode(content, path)
    except TraceError as error:
        return run_of(path), [Fact("", _BAD, "", -1, text=str(error))]
    return segment.header.run, kernels(segment)


# ---- the same as a Spark application


@dataclass(slots=True)
class Application:
    """Runs judged by Spark. `results` has a row for each run and table (Arrow bytes); it is kept until `close`."""

    files: DataFrame  # path, content
    require: tuple[str, ...] = ()
    _facts: DataFrame | None = None
    _results: list[DataFrame] = field(default_factory=list)

    def judge(self) -> dict[str, Judgement]:
        """The judgement of each run."""
        facts = self._facts = self.files.mapInArrow(_kernel_task(0, None), _spark(ROWS)).persist()
        results = self._compared(facts)
        judged = _judgements(results)
        wanted, extra = _wanted(results), None
        for round_ in range(1, ROUNDS + 1):
            if not wanted:
                break
            again = self._read_again(results, wanted, round_)
            extra = again if extra is None else extra.unionByName(again)
            runs = list(wanted)
            more = self._compared(
                facts.where(facts["run"].isin(runs)).unionByName(extra.where(extra["run"].isin(runs)))
            )
            judged |= _judgements(more)
            self._results[:-1] = [frame.where(~frame["run"].isin(runs)) for frame in self._results[:-1]]
            results, wanted = more, _wanted(more)
        return judged

    def table(self, name: str) -> DataFrame:
        """One table of results over all runs."""
        frames = [frame.where(frame["table"] == name) for frame in self._results]
        whole = frames[0]
        for frame in frames[1:]:
            whole = whole.unionByName(frame)
        return whole.select("rows").mapInArrow(_unpack_task, _spark(TABLES[name].schema))

    def outcome(self, run: str, judgement: Judgement) -> Outcome:
        """Everything about one run, brought to the driver."""
        outcome = Outcome(run, judgement)
        for name in TABLES:
            table = self.table(name)
            outcome.tables[name] = table.where(table["run"] == run).toArrow().to_pylist()
        return outcome

    def bad_files(self) -> list[tuple[str, str]]:
        """Files that were not read, or not to their end: path and why."""
        table = self.table("segments")
        rows = table.where(table["reason"].isNotNull()).select("path", "reason").limit(_KEPT_BAD).collect()
        return sorted((row["path"], row["reason"]) for row in rows)

    def close(self) -> None:
        for frame in (self._facts, *self._results):
            if frame is not None:
                frame.unpersist()

    def _compared(self, rows: DataFrame) -> DataFrame:
        partitions = _partitions(rows)
        grouped = rows.repartition(partitions, "run").groupBy("run")
        results = grouped.applyInArrow(_comparison_task(self.require), _spark(RESULTS)).persist()
        self._results.append(results)
        return results

    def _read_again(self, results: DataFrame, wanted: Mapping[str, list[Wanted]], round_: int) -> DataFrame:
        chosen = results.where((results["table"] == "segments") & results["run"].isin(list(wanted)))
        paths = [path for batch in _batches(chosen) for path in batch.column("path").to_pylist()]
        files = self.files.where(self.files["path"].isin(paths))
        return files.mapInArrow(_kernel_task(round_, wanted), _spark(ROWS))


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
        runs = [_read(path, content.as_buffer(), lambda segment: [])[0] for path, content in files]
        yield pa.RecordBatch.from_pydict({"run": runs})


def _kernel_task(round_: int, wanted: Mapping[str, list[Wanted]] | None) -> Any:
    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for path, content in zip(batch.column("path").to_pylist(), batch.column("content"), strict=True):
                yield _kernel_rows(path, content.as_buffer(), round_, wanted)

    return run


def _kernel_rows(path: str, content: Any, round_: int, wanted: Mapping[str, list[Wanted]] | None) -> pa.RecordBatch:
    run, facts = _read(path, content, _first if wanted is None else _again_in(wanted))
    batch = batch_of(run, facts)
    count = batch.num_rows
    columns = [pa.repeat(path, count), pa.repeat(pa.scalar(len(content), pa.int64()), count)]
    columns.append(pa.repeat(pa.scalar(round_, pa.int32()), count))
    return pa.RecordBatch.from_arrays([*columns, *batch.columns], schema=ROWS)


def _again_in(wanted: Mapping[str, list[Wanted]]) -> Kernels:
    return lambda segment: facts_again(segment, wanted.get(segment.header.run, ()), KERNELS)


def _comparison_task(require: tuple[str, ...]) -> Any:
    def run(table: pa.Table) -> pa.Table:
        name = table.column("run")[0].as_py()
        found = Found()
        for part in _by_file(table):
            path, size, round_ = (part.column(column)[0].as_py() for column in ("path", "bytes", "round"))
            found.add(path, size, list(facts_in(part)), round_)
        comparison, wanted = found.compare()
        outcome = _outcome(name, comparison, found, require, "spark")
        # Files that are no recordings are told, but they are not a run.
        names = TABLES if outcome.tables["members"] else ("segments",)
        rows = {table_name: _packed(outcome.batch(table_name)) for table_name in names}
        rows[_JUDGEMENT] = to_json(outcome.judgement).encode()
        if wanted:
            rows[_WANTED] = json.dumps(wanted).encode()
        columns = [[name] * len(rows), list(rows), list(rows.values())]
        return pa.Table.from_arrays(
            [pa.array(c, f.type) for c, f in zip(columns, RESULTS, strict=True)], schema=RESULTS
        )

    return run


def _by_file(table: pa.Table) -> Iterator[pa.Table]:
    """The rows of each file and round."""
    table = table.sort_by([("round", "ascending"), ("path", "ascending")])
    paths, rounds = table.column("path").to_pylist(), table.column("round").to_pylist()
    begin = 0
    for at in range(1, len(paths) + 1):
        if at == len(paths) or (paths[at], rounds[at]) != (paths[begin], rounds[begin]):
            yield table.slice(begin, at - begin)
            begin = at


def _unpack_task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for rows in batch.column("rows"):
            yield from pa.ipc.open_stream(rows.as_buffer())


def _packed(batch: pa.RecordBatch) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return bytes(sink.getvalue())


def _judgements(results: DataFrame) -> dict[str, Judgement]:
    rows = results.where(results["table"] == _JUDGEMENT).select("run", "rows").toArrow().to_pylist()
    return {row["run"]: from_json(row["rows"].decode()) for row in sorted(rows, key=lambda row: str(row["run"]))}


def _wanted(results: DataFrame) -> dict[str, list[Wanted]]:
    rows = results.where(results["table"] == _WANTED).select("run", "rows").toArrow().to_pylist()
    return {row["run"]: [Wanted(*want) for want in json.loads(row["rows"])] for row in rows}


def _batches(results: DataFrame) -> Iterator[pa.RecordBatch]:
    for rows in results.select("rows").toArrow().column("rows"):
        yield from pa.ipc.open_stream(rows.as_buffer())


def _partitions(rows: DataFrame) -> int:
    return int(rows.sparkSession.conf.get("spark.sql.shuffle.partitions") or 1)


def _spark(schema: pa.Schema) -> Any:
    from pyspark.sql.pandas.types import from_arrow_schema

    return from_arrow_schema(schema)
