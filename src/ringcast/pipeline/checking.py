"""`check` for programs: recordings to judgements, by Spark unless the judge in this process is asked for.

`local` runs the same kernels without a JVM: for small recordings on this machine, and where there is no Spark.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import urlparse

from ringcast.checkers import Judgement, nothing_read
from ringcast.errors import UsageError
from ringcast.pipeline.judging import Application, judge_files
from ringcast.pipeline.progress import cause_of, in_a_sentence, watched
from ringcast.pipeline.reading import chosen_files, literally, segment_files
from ringcast.pipeline.results import Outcome
from ringcast.pipeline.segment import run_of
from ringcast.pipeline.session import spark_session
from ringcast.pipeline.writing import TableStore, unseen, write_tables
from ringcast.trace import SUFFIX, TraceError, is_segment, local_paths, segment_number

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

T = TypeVar("T")
_NAMED = 1000  # files that could not be read
JUDGES = ("auto", "spark", "local")
Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Request:
    """What is to be judged, and how. `tables` is a URI or a catalog name; `judge` is one of JUDGES."""

    uris: Sequence[str]
    require: tuple[str, ...] = ()
    judge: str = "auto"
    master: str | None = None
    settings: Mapping[str, str] = field(default_factory=dict)
    tables: str | None = None
    incremental: bool = False
    with_events: bool = False


@dataclass(frozen=True, slots=True)
class Checked:
    """`judge` says who judged; `unread` names files that are no readable segments; `failed` why there are no tables."""

    judge: str
    runs: Mapping[str, Judgement]
    unread: Sequence[str] = ()
    failed: str = ""


def check(request: Request, say: Say = lambda _: None) -> Checked:
    """Judge every run in these recordings."""
    if request.judge == "local":
        return _checked_here(judge_local(request.uris, request.require))
    _refuse_empty(request)
    with spark_session(request.master, request.settings) as spark, watched(spark, say):
        return _by_spark(spark, request)


def use_outcome_of_one(
    request: Request, use: Callable[[Outcome, SparkSession | None], T], say: Say = lambda _: None
) -> T:
    """`use` gets everything about the one run in these recordings while Spark, if it judged, still runs.

    UsageError if there are several runs.
    """
    if request.judge == "local":
        found = {outcome.run: outcome for outcome in judge_local(request.uris, request.require)}
        return use(found[_only_run(_checked_here(list(found.values())))], None)
    _refuse_empty(request)
    with spark_session(request.master, request.settings) as spark, watched(spark, say):
        uris = _uris(request)
        application = Application(segment_files(spark, uris), request.require)
        try:
            judged = application.judge()
            if not judged:
                raise TraceError(f"no recording in {', '.join(uris)}")
            run = _only_run(_checked("spark", judged, application.bad_files(), application.places()))
            return use(application.outcome(run, judged[run]), spark)
        finally:
            application.close()


def _refuse_empty(request: Request) -> None:
    """Refuse directories of this machine without a recording at once, because Spark takes seconds to find out."""
    is_local = request.master is None and all(urlparse(uri).scheme in ("", "file") for uri in request.uris)
    places = [local_paths(uri) for uri in request.uris] if is_local else [[]]
    if all(places) and not any(local_segments(request.uris)):
        raise TraceError(f"no recording in {', '.join(request.uris)}")


def _uris(request: Request) -> list[str]:
    """Return what Spark is to read; TraceError for a local file that is no segment, which Spark would leave out."""
    for path in map(Path, request.uris):
        if path.is_file() and path.suffix != SUFFIX:
            segment_number(path.read_bytes(), str(path))
    return [as_uri(uri) for uri in request.uris]


def _only_run(checked: Checked) -> str:
    if len(checked.runs) != 1:
        names = ", ".join(list(checked.runs)[:3])
        raise UsageError(f"a report is about one run, and here are {len(checked.runs)} ({names}, …)")
    return next(iter(checked.runs))


def judge_local(uris: Sequence[str], require: Iterable[str] = ()) -> list[Outcome]:
    """The outcome of every run in these local recordings, in this process."""
    files = local_segments(uris)
    if not files:
        raise TraceError(f"no recording in {', '.join(uris)}")
    return judge_files(_contents(files), require)


def as_uri(given: str) -> str:
    """A path that is on this machine as a `file:` URI; everything else as it is, for Spark to understand.

    What is there under this very name is no pattern, whatever characters it has.
    """
    if urlparse(given).scheme or not local_paths(given):
        return given
    path = str(Path(given).absolute())
    return "file://" + (literally(path) if Path(given).exists() else path)


def local_segments(uris: Sequence[str]) -> list[Path]:
    """The segments in or below these local paths and `file:` URIs; UsageError for other schemes."""
    found: dict[Path, None] = {}
    for uri in uris:
        places = local_paths(uri)
        if not places:
            raise TraceError(f"there is nothing at {uri}")
        for place in map(Path.absolute, places):
            found.update(dict.fromkeys(sorted(place.rglob("*" + SUFFIX)) if place.is_dir() else [place]))
    return list(found)


def _contents(files: Iterable[Path]) -> Iterator[tuple[str, bytes]]:
    for path in files:
        try:
            yield str(path), path.read_bytes()
        except FileNotFoundError:  # finished, and so renamed, after it was listed
            finished = path.with_name(path.name.lstrip("_"))
            yield str(finished), finished.read_bytes()
        except OSError as error:
            raise TraceError(f"cannot read {path}: {error.strerror or error}") from None


def _by_spark(spark: object, request: Request) -> Checked:
    uris = _uris(request)
    store = None if request.tables is None else TableStore(spark, request.tables)  # type: ignore[arg-type]
    if store is not None:
        store.check()
    if store is not None and request.incremental:
        files = chosen_files(spark, unseen(store, uris))  # type: ignore[arg-type]
    else:
        files = segment_files(spark, uris)  # type: ignore[arg-type]
    application = Application(files, request.require, with_tables=store is not None)
    failed = ""
    try:
        judged = application.judge()
        if store is not None and judged:
            try:
                write_tables(store, application, list(judged), uris if request.with_events else ())
            except Exception as error:
                why = in_a_sentence(error) or cause_of(error)
                failed = f"the tables in {store.place} were not written: {why}"
        bad, places = application.bad_files(), application.places()
    finally:
        application.close()
    if not judged and not request.incremental:
        raise TraceError(f"no recording in {', '.join(uris)}")
    return replace(_checked("spark", judged, bad, places), failed=failed)


def _checked_here(outcomes: Sequence[Outcome]) -> Checked:
    rows = [row for outcome in outcomes for row in outcome.tables["segments"]]
    bad = [(row["path"], row["reason"]) for row in rows if row["reason"]]
    places = {run_of(row["path"]) for row in rows if not row["reason"]}
    return _checked("local", {outcome.run: outcome.judgement for outcome in outcomes}, bad, places)


def _checked(
    judge: str, judged: Mapping[str, Judgement], bad: Sequence[tuple[str, str]], places: Container[str]
) -> Checked:
    """Files that are no recordings are named, but they are not a run; TraceError if there is nothing else.

    Where segments lie, and no recording beside them (`places`) could be read, a run was lost: it is not judged.
    """
    runs = {run: judgement for run, judgement in judged.items() if judgement.recordings}
    unread = [f"{path}: {reason}" for path, reason in bad[:_NAMED]]
    if judged and not runs and bad:
        raise TraceError(f"no recording could be read: {unread[0]}")
    for (path, _), sentence in zip(bad, map(": ".join, bad), strict=True):
        run = run_of(path)
        if is_segment(path.rpartition("/")[2]) and run not in runs and run not in places:
            runs[run] = nothing_read(sentence)
    return Checked(judge, dict(sorted(runs.items())) or judged, unread)
