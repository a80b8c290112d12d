"""`ringcast report`: one self-contained file about a run."""

from __future__ import annotations

import shlex
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ringcast._version import __version__
from ringcast.checkers import Judgement, parse_require
from ringcast.cli.check import chosen_judge, local_places, rules_request
from ringcast.cli.output import check_writable, emit_json, json_option, say, say_progress
from ringcast.errors import UsageError
from ringcast.trace import SUFFIX, read_runs

if TYPE_CHECKING:
    from ringcast.report import About

_EPILOG = """\b
Examples:
  ringcast report recordings/ -o report.html
  ringcast report recordings/ -o report.html --checkers     without Spark, for runs of up to two million events
  ringcast report recordings/ -o report.html --master spark://host:7077
The exit code is that of the verdict: 0 held, 1 violated, 2 unjudged or could not run.
"""


@click.command(epilog=_EPILOG)
@click.argument("uris", metavar="URI...", nargs=-1, required=True)
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), help="The HTML file to write.")
@click.option("--master", metavar="M", help="The Spark master (or sc:// address); default: this machine.")
@click.option("--conf", multiple=True, metavar="K=V", help="A setting of the Spark session.")
@click.option(
    "--judge",
    "judged_by",
    type=click.Choice(["auto", "spark", "local", "checkers"]),
    default="auto",
    show_default=True,
    help="Who judges and measures; auto: this process if the recordings are small and here, else Spark.",
)
@click.option("--checkers", "by_checkers", is_flag=True, help="Short for --judge checkers: neither Java nor pyarrow.")
@click.option("--title", default="A ringcast run", show_default=True, help="What the report is called.")
@click.option(
    "--require",
    multiple=True,
    metavar="G8,G9",
    help="These must be judged too (whole: no recording is cut), or the run is unjudged.",
)
@json_option
def command(
    uris: tuple[str, ...],
    output: Path,
    master: str | None,
    conf: tuple[str, ...],
    judged_by: str,
    by_checkers: bool,
    title: str,
    require: tuple[str, ...],
    as_json: bool,
) -> int:
    """Judge and measure the recordings of one run in or below each URI and write a report: one HTML file."""
    required = parse_require(require)
    needs_spark = [name for name, given in (("--master", master), ("--conf", conf)) if given]
    judged_by = chosen_judge(judged_by, by_checkers, needs_spark)
    if not output.parent.is_dir():
        raise UsageError(f"there is no directory {output.parent} to write {output.name} into")
    check_writable(output)
    about = _about(uris, output, judged_by, title)
    if judged_by == "checkers":
        judgement = _by_checkers(uris, output, about, required)
    else:
        from ringcast.pipeline import write_report

        judgement = write_report(rules_request(uris, require, master, conf, judged_by), output, about, say_progress)
    if as_json:
        emit_json({**judgement.to_json(), "path": str(output)})
    else:
        say(f"{judgement.verdict}: {output}")
    return judgement.exit_code


def _by_checkers(uris: tuple[str, ...], output: Path, about: About, required: list[str]) -> Judgement:
    from ringcast.report import gather, judged_by_checkers, render

    runs = read_runs(local_places(uris))
    if len(runs) != 1:
        raise UsageError(f"a report is about one run, and here are {len(runs)} ({', '.join(list(runs)[:3])}, …)")
    judged = judged_by_checkers(next(iter(runs.values())), required)
    output.write_text(render(gather(judged, about)), encoding="utf-8")
    return judged.judgement


def _about(uris: tuple[str, ...], output: Path, judged_by: str, title: str) -> About:
    from ringcast.report import About

    now = datetime.now(UTC)
    how = [] if judged_by == "auto" else ["--judge", judged_by]
    command_line = shlex.join(["ringcast", "report", *uris, "-o", str(output), *how])
    return About(title, command_line, uris, f"{now:%Y-%m-%d %H:%M} UTC", __version__, _recorded_until(uris))


def _recorded_until(uris: tuple[str, ...]) -> str:
    """When the newest segment was written, if they are on this machine."""
    times = [path.stat().st_mtime for uri in uris for path in Path(uri).rglob("*" + SUFFIX)]
    return f"{datetime.fromtimestamp(max(times), UTC):%Y-%m-%d %H:%M:%S} UTC" if times else ""
