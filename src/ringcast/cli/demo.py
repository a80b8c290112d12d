"""`ringcast demo`: the tour of five minutes."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import click

from ringcast.cli.output import emit_json, json_option, say_progress
from ringcast.demo import Options, Outcome, take_tour


@click.command(name="demo")
@click.option("--members", default=5, show_default=True, help="Processes in the group.")
@click.option("--quick", is_flag=True, help="Fewer messages; judged by the checkers.")
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
    outcome = asyncio.run(take_tour(options, say_progress if as_json else click.echo))
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
        "judge": "checkers",
        "record": str(record),
        "report": None,
        "failure": outcome.failure,
    }


def _tell(outcome: Outcome, record: Path) -> None:
    if outcome.failure is not None:
        click.echo(f"\nThe tour stopped: {outcome.failure}", err=True)
        return
    click.echo(f"\nThe recordings are in {record}. Look into them:")
    click.echo(f"  ringcast check {record}        ringcast trace stats {record}")
