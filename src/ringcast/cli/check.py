"""`ringcast check`: the verdict over recordings, in words or as JSON.

Judged by the Spark pipeline, on this machine unless `--master` names a cluster. `--checkers` judges in this process
instead; so does an installation without Spark or Java, which says so. Both use the same words.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import click

from ringcast.checkers import Judgement, judge, parse_require
from ringcast.cli.output import emit_json, json_option, say_progress
from ringcast.errors import UsageError
from ringcast.trace import Recording, read_run

_EPILOG = """\b
Examples:
  ringcast check recordings/
  ringcast check recordings/ --require G8,G9 --json
  ringcast check recordings/ --master spark://host:7077
  ringcast check recordings/ --checkers
Exit codes: 0 held, 1 violated, 2 unjudged or could not run.
"""

_MARKS = {"held": "held", "violated": "VIOLATED", "unjudged": "unjudged"}


@click.command(epilog=_EPILOG)
@click.argument("traces", metavar="TRACE...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--require", multiple=True, metavar="G8,G9", help="These must be judged too, or the run is unjudged.")
@click.option("--master", metavar="M", help="The Spark master (or sc:// address) that judges; default: this machine.")
@click.option("--checkers", "by_checkers", is_flag=True, help="Judge in this process, without Spark.")
@json_option
def command(
    traces: tuple[Path, ...], require: tuple[str, ...], master: str | None, by_checkers: bool, as_json: bool
) -> int:
    """Judge the recordings in or below each TRACE directory as one run: did every guarantee hold?"""
    if by_checkers and master is not None:
        raise UsageError("--master and --checkers exclude each other")
    parse_require(require)
    recordings = read_run(traces)
    lacking = None if by_checkers or master is not None else lacks_spark()
    if lacking:
        say_progress(f"judging without Spark: {lacking}")
    if by_checkers or lacking:
        judgement, judged_by = judge(recordings, require), "checkers"
    else:
        judgement, judged_by = by_spark(recordings, require, master), "spark"
    if as_json:
        emit_json({**judgement.to_json(), "judge": judged_by})
    else:
        click.echo(in_words(judgement))
    return judgement.exit_code


def lacks_spark() -> str | None:
    """Why Spark cannot be used here, or None if it can."""
    for package in ("pyspark", "pyarrow", "numpy"):
        if find_spec(package) is None:
            return f"the package {package!r} is not installed (pip install 'ringcast[pipeline]')"
    from ringcast.pipeline import JavaNotFound, find_java_home

    try:
        find_java_home()
    except JavaNotFound as error:
        return str(error)
    return None


def by_spark(recordings: list[Recording], require: tuple[str, ...], master: str | None) -> Judgement:
    from ringcast.pipeline import judge_recordings, spark_session

    with spark_session(master) as spark:
        return judge_recordings(spark, recordings, require)


def in_words(judgement: Judgement) -> str:
    """The verdict per guarantee with what was examined, the first violations of each, and the verdict over all."""
    lines = []
    for name, finding in judgement.findings.items():
        lines.append(
            f"{name:>4}  {_MARKS[finding.verdict]:<9} {finding.examined:>12,} examined" + _why(finding.missing)
        )
        lines += [f"      event {v.index}: {v.sentence}" for v in finding.violations[:5]]
        if finding.violation_count > 5:
            lines.append(f"      and {finding.violation_count - 5:,} more")
    reasons = "" if judgement.verdict == "violated" else "".join(f"; {reason}" for reason in judgement.reasons)
    lines.append(f"{_MARKS[judgement.verdict]}: {judgement.events:,} events judged{reasons}")
    return "\n".join(lines)


def _why(missing: list[str]) -> str:
    return f"  ({missing[0]})" if missing else ""
