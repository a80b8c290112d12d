"""`ringcast demo`: the tour of five minutes."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import click

from ringcast.cli.check import lacks_spark
from ringcast.cli.output import emit_json, json_option, say_progress
from ringcast.demo import Options, Outcome, take_tour
from ringcast.errors import UsageError


@click.command(name="demo")
@click.option("--members", default=5, show_default=True, help="Processes in the group.")
@click.option("--quick", is_flag=True, help="Fewer messages; judged by the checkers instead of Spark, without a page.")
@click.option("--record", type=click.Path(path_type=Path), default=None, help="Where to record; default out/demo-TIME.")
@json_option
def command(members: int, quick: bool, record: Path | None, as_json: bool) -> None:
    """Watch a group of real processes on this machine: it forms, talks, waits, is cut, heals, and is judged.

    \b
    Examples:
      ringcast demo
      ringcast demo --quick --members 5
      ringcast demo --record my-run && ringcast check my-run

    Ctrl-C ends it and every process it started. Exit code 0: everything went as promised and the verdict is "held".
    """
    record = record or Path("out") / time.strftime("demo-%Y%m%d-%H%M%S")
    options = Options(members, record, messages=2_000 if quick else 20_000)
    lacking = None if quick else lacks_spark()
    if lacking is not None:
        raise UsageError(f"the whole demo is judged by Spark: {lacking}; --quick does without")
    say = say_progress if as_json else click.echo
    outcome = asyncio.run(take_tour(options, say, by_spark=not quick))
    if as_json:
        emit_json(_json(outcome, record))
    else:
        _tell(outcome, record)
    raise SystemExit(0 if outcome.is_good else 1)


def _json(outcome: Outcome, record: Path) -> dict[str, object]:
    judgement = outcome.judgement
    return {
        "steps": outcome.steps,
        "verdict": "unjudged" if judgement is None else judgement.verdict,
        "judge": outcome.judge,
        "record": str(record),
        "report": None if outcome.report is None else str(outcome.report),
        "failure": outcome.failure,
    }


def _tell(outcome: Outcome, record: Path) -> None:
    if outcome.failure is not None:
        click.echo(f"\nThe tour stopped: {outcome.failure}", err=True)
        return
    if outcome.report is not None:
        click.echo(f"\nOpen the report: {outcome.report}")
    click.echo(f"\nThe recordings are in {record}. Look into them:")
    click.echo(f"  ringcast check {record}        ringcast trace stats {record}")
