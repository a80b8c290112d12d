"""`ringcast check`: the verdict over recordings, in words or as JSON.

Judged by the rules of the pipeline on Spark, on this machine unless `--master` names a cluster; in this process with
`--judge local`, or where Spark or Java is lacking. `--checkers` judges by the checkers instead; so does an installation
without the pipeline's packages. Each says which it was, and all use the same words.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ringcast.checkers import Judgement, judge, nothing_read, parse_require, together
from ringcast.cli.output import emit_json, json_option, say, say_progress
from ringcast.errors import RingcastError, UsageError
from ringcast.trace import TraceError, is_segment, local_paths, readable_runs, unnamed_run

if TYPE_CHECKING:
    from ringcast.pipeline import Request

_EPILOG = """\b
Examples:
  ringcast check recordings/
  ringcast check recordings/ --require G8,G9 --json
  ringcast check 's3a://bucket/soak-*' --master spark://host:7077 --tables s3a://bucket/tables
  ringcast check recordings/ --tables lake.ringcast --incremental
  ringcast check recordings/ --checkers
Exit codes: 0 held, 1 violated, 2 unjudged or could not run.
"""

_MARKS = {"held": "held", "violated": "VIOLATED", "unjudged": "unjudged"}
_JUDGES = {"spark": "Spark", "local": "the rules in this process", "checkers": "the checkers"}
_SHOWN_RUNS = 50


@dataclass(frozen=True, slots=True)
class Told:
    """What is said: who judged, and each run."""

    judge: str
    runs: Mapping[str, Judgement]
    unread: list[str] = field(default_factory=list)
    failed: str = ""  # why there are no tables

    @property
    def together(self) -> Judgement:
        """One judgement over all runs, each violation with its run."""
        return together([_with_run(run, judgement) for run, judgement in self.runs.items()])

    def to_json(self) -> dict[str, Any]:
        told = self.together.to_json()
        names = [{"run": run, "verdict": judgement.verdict} for run, judgement in self.runs.items()]
        told |= {"failed": self.failed} if self.failed else {}
        return {**told, "judge": self.judge, "runs": names, "not_judged": told["not_judged"] + self.unread}


@click.command(epilog=_EPILOG)
@click.argument("uris", metavar="URI...", nargs=-1, required=True)
@click.option(
    "--require",
    multiple=True,
    metavar="G8,G9",
    help="These must be judged too (whole: no recording is cut), or the run is unjudged.",
)
@click.option("--master", metavar="M", help="The Spark master (or sc:// address) that judges; default: this machine.")
@click.option("--conf", multiple=True, metavar="K=V", help="A setting of the Spark session.")
@click.option(
    "--judge",
    "judged_by",
    type=click.Choice(["auto", "spark", "local", "checkers"]),
    default="auto",
    show_default=True,
    help="Who judges. auto: Spark where it is installed; local: the same rules in this process.",
)
@click.option("--checkers", "by_checkers", is_flag=True, help="Short for --judge checkers.")
@click.option("--tables", metavar="URI", help="Write tables there: a URI, or a catalog name. See `ringcast tables`.")
@click.option("--incremental", is_flag=True, help="With --tables: only runs with segments that the tables lack.")
@click.option("--events", "with_events", is_flag=True, help="With --tables: also every single event (large).")
@json_option
def command(
    uris: tuple[str, ...],
    require: tuple[str, ...],
    master: str | None,
    conf: tuple[str, ...],
    judged_by: str,
    by_checkers: bool,
    tables: str | None,
    incremental: bool,
    with_events: bool,
    as_json: bool,
) -> int:
    """Judge the recordings in or below each URI, run by run: did every guarantee hold?"""
    parse_require(require)
    needs_spark = [name for name, given in (("--master", master), ("--conf", conf), ("--tables", tables)) if given]
    judged_by = chosen_judge(judged_by, by_checkers, needs_spark)
    if (incremental or with_events) and tables is None:
        raise UsageError(f"{'--incremental' if incremental else '--events'} needs --tables")
    if judged_by == "checkers":
        told = judged_by_checkers(uris, require)
    else:
        told = _by_rules(uris, require, master, conf, judged_by, tables, incremental, with_events)
    if not told.runs:
        emit_json({"judge": told.judge, "runs": []}) if as_json else say("nothing new to judge")
        return 0
    emit_json(told.to_json()) if as_json else say(_told_in_words(told))
    if told.failed:
        raise RingcastError(told.failed)
    return told.together.exit_code


def chosen_judge(judged_by: str, by_checkers: bool, needs_spark: list[str]) -> str:
    """Who judges; `needs_spark` are the options given that only Spark understands."""
    if by_checkers and judged_by not in ("auto", "checkers"):
        raise UsageError(f"--checkers and --judge {judged_by} exclude each other")
    judged_by = "checkers" if by_checkers else judged_by
    if needs_spark and judged_by in ("local", "checkers"):
        raise UsageError(
            f"{needs_spark[0]} and {'--checkers' if by_checkers else '--judge ' + judged_by} exclude each other"
        )
    if judged_by == "auto" and not needs_spark and (lacking := _lacks_packages()):
        say_progress(f"judging by the checkers: {lacking}")
        judged_by = "checkers"
    return judged_by


def _by_rules(
    uris: tuple[str, ...],
    require: tuple[str, ...],
    master: str | None,
    conf: tuple[str, ...],
    judged_by: str,
    tables: str | None,
    incremental: bool,
    with_events: bool,
) -> Told:
    from ringcast.pipeline import check

    asked = rules_request(uris, require, master, conf, judged_by)
    asked = replace(asked, tables=tables, incremental=incremental, with_events=with_events)
    checked = check(asked, say_progress)
    return Told(checked.judge, checked.runs, list(checked.unread), checked.failed)


def rules_request(
    uris: tuple[str, ...], require: tuple[str, ...], master: str | None, conf: tuple[str, ...], judged_by: str
) -> Request:
    """What is asked of the pipeline; without Java, what can be judged in this process is."""
    from ringcast.pipeline import Request, settings_of

    if judged_by == "auto" and master is None and not conf and (lacking := lacks_spark()):
        say_progress(f"judging without Spark: {lacking}")
        judged_by = "local"
    return Request(list(uris), tuple(parse_require(require)), judged_by, master, settings_of(conf))


def _lacks_packages() -> str | None:
    for package in ("pyarrow", "numpy"):
        if find_spec(package) is None:
            return f"the package {package!r} is not installed (pip install 'ringcast[pipeline]')"
    return None


def lacks_spark() -> str | None:
    """Why Spark cannot be used here, or None if it can."""
    if lacking := _lacks_packages():
        return lacking
    if find_spec("pyspark") is None:
        return "the package 'pyspark' is not installed (pip install 'ringcast[pipeline]')"
    from ringcast.pipeline import JavaNotFound, find_java_home

    try:
        find_java_home()
    except JavaNotFound as error:
        return str(error)
    return None


def judged_by_checkers(uris: tuple[str, ...], require: tuple[str, ...]) -> Told:
    """The judgement of each run by the checkers; one of which nothing can be read is not judged."""
    found, bad = readable_runs(local_places(uris))
    if not found:
        raise TraceError(f"no recording could be read: {bad[0][1]}")
    runs = {run: judge(recordings, require) for run, recordings in found.items()}
    places = {recording.segments[0].absolute().parents[1] for run in found.values() for recording in run}
    for directory, why in bad:
        is_recording = any(is_segment(path.name) for path in directory.iterdir())
        if is_recording and directory.absolute().parent not in places:
            runs.setdefault(unnamed_run(directory), nothing_read(why))
    return Told("checkers", dict(sorted(runs.items())), [why for _, why in bad])


def local_places(uris: Iterable[str]) -> list[Path]:
    """Where the checkers find these recordings; TraceError if there is nothing."""
    found = {uri: local_paths(uri) for uri in uris}
    for uri, paths in found.items():
        if not paths:
            raise TraceError(f"there is nothing at {uri}")
    return [path for paths in found.values() for path in paths]


def _told_in_words(told: Told) -> str:
    lines = [f"judged by {_JUDGES[told.judge]}", *(f"not read: {sentence}" for sentence in told.unread)]
    if len(told.runs) == 1:
        return "\n".join([*lines, in_words(next(iter(told.runs.values())))])
    for run, judgement in list(told.runs.items())[:_SHOWN_RUNS]:
        why = f": {judgement.reasons[0]}" if judgement.reasons and judgement.verdict != "held" else ""
        lines.append(f"{_MARKS[judgement.verdict]:<9} {run}{why}")
    if len(told.runs) > _SHOWN_RUNS:
        lines.append(f"and {len(told.runs) - _SHOWN_RUNS:,} more runs")
    verdicts = [judgement.verdict for judgement in told.runs.values()]
    counts = ", ".join(f"{verdicts.count(v):,} {_MARKS[v]}" for v in _MARKS if v in verdicts)
    return "\n".join([*lines, in_words(told.together), f"{len(verdicts):,} runs: {counts}"])


def _with_run(run: str, judgement: Judgement) -> Judgement:
    findings = {
        name: replace(finding, violations=[replace(violation, run=run) for violation in finding.violations])
        for name, finding in judgement.findings.items()
    }
    return replace(judgement, findings=findings)


def in_words(judgement: Judgement) -> str:
    """The verdict per guarantee with what was examined, the first violations of each, and the verdict over all."""
    lines = []
    for name, finding in judgement.findings.items():
        lines.append(
            f"{name:>4}  {_MARKS[finding.verdict]:<9} {finding.examined:>12,} examined" + _why(finding.missing)
        )
        lines += [f"      {f'{v.run}, ' if v.run else ''}event {v.index}: {v.sentence}" for v in finding.violations[:5]]
        if finding.violation_count > 5:
            lines.append(f"      and {finding.violation_count - 5:,} more")
    lines += [f"not judged: {sentence}" for sentence in judgement.not_judged]
    reasons = "" if judgement.verdict == "violated" else "".join(f"; {reason}" for reason in judgement.reasons)
    lines.append(f"{_MARKS[judgement.verdict]}: {judgement.events:,} events judged{reasons}")
    return "\n".join(lines)


def _why(missing: list[str]) -> str:
    return f"  ({missing[0]})" if missing else ""
