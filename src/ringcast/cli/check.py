"""`ringcast check`: the verdict over recordings, in words or as JSON."""

from __future__ import annotations

from pathlib import Path

import click

from ringcast.checkers import Judgement, judge, parse_require
from ringcast.cli.output import emit_json, json_option
from ringcast.trace import read_run

_EPILOG = """\b
Examples:
  ringcast check recordings/
  ringcast check recordings/ --require G8,G9 --json
Exit codes: 0 held, 1 violated, 2 unjudged or could not run.
"""

_MARKS = {"held": "held", "violated": "VIOLATED", "unjudged": "unjudged"}


@click.command(epilog=_EPILOG)
@click.argument("traces", metavar="TRACE...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--require", multiple=True, metavar="G8,G9", help="These must be judged too, or the run is unjudged.")
@click.option("--checkers", "by_checkers", is_flag=True, help="Judge in this process, without Spark.")
@json_option
def command(traces: tuple[Path, ...], require: tuple[str, ...], by_checkers: bool, as_json: bool) -> int:
    """Judge the recordings in or below each TRACE directory as one run: did every guarantee hold?"""
    parse_require(require)
    judgement = judge(read_run(traces), require)
    if as_json:
        emit_json({**judgement.to_json(), "judge": "checkers"})
    else:
        click.echo(in_words(judgement))
    return judgement.exit_code


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
