"""`ringcast demo`: the tour of five minutes."""

from __future__ import annotations

import asyncio
import signal
import sys
import time
from pathlib import Path

import click

from ringcast.cli.check import lacks_spark
from ringcast.cli.demo_screen import LiveScreen, PlainScreen
from ringcast.cli.key_option import for_members, key_option
from ringcast.cli.output import check_writable, emit_json, json_option, say_progress
from ringcast.demo import Audience, Options, Outcome, take_tour
from ringcast.errors import UsageError


@click.command(name="demo")
@click.option("--members", default=5, show_default=True, help="Processes in the group, 4 to 10.")
@click.option("--quick", is_flag=True, help="Fewer messages; judged by the checkers instead of Spark, without a page.")
@click.option("--record", type=click.Path(path_type=Path), default=None, help="Where to record; default out/demo-TIME.")
@click.option("--no-namespaces", is_flag=True, help="Cut by the transport's own switch instead of in the network.")
@key_option
@json_option
def command(
    members: int, quick: bool, record: Path | None, no_namespaces: bool, key_file: Path | None, as_json: bool
) -> int:
    """Watch a group of real processes on this machine: it forms, talks, waits, is cut, heals, and is judged.

    \b
    Examples:
      ringcast demo                                       about a minute, judged by Spark
      ringcast demo --quick                               half of that, judged by the checkers
      ringcast demo --record my-run && ringcast check my-run
      ringcast key new -o demo.key && ringcast demo --key-file demo.key

    The network is cut in namespaces of its own where that is allowed (root, or user namespaces), otherwise by the
    transport's own switch; it says which. Ctrl-C ends it and every process it started.
    Exit code 0: everything went as promised, and the verdict over all of G1 to G18 is "held".
    """
    record = record or Path("out") / time.strftime("demo-%Y%m%d-%H%M%S")
    check_writable(record)
    options = Options(members, record, 2_000 if quick else 20_000, in_namespaces=not no_namespaces)
    lacking = None if quick else lacks_spark()
    if lacking is not None:
        raise UsageError(f"the whole demo is judged by Spark: {lacking}; --quick does without")
    screen = _screen(as_json)
    try:
        with for_members(key_file):
            outcome = asyncio.run(_tour(options, screen, by_spark=not quick))
    except (KeyboardInterrupt, asyncio.CancelledError):
        say_progress(f"\nstopped; everything that was started has ended. What was recorded is in {record}")
        raise KeyboardInterrupt from None
    finally:
        screen.close()
    if as_json:
        emit_json(_json(outcome, record))
    else:
        _tell(outcome, record)
    return 0 if outcome.is_good else 1


def _screen(as_json: bool) -> PlainScreen | LiveScreen:
    if as_json:
        return PlainScreen(say_progress)
    return LiveScreen() if sys.stdout.isatty() else PlainScreen(click.echo)


async def _tour(options: Options, screen: Audience, *, by_spark: bool) -> Outcome:
    """SIGTERM ends it in the same way as Ctrl-C."""
    task = asyncio.current_task()
    assert task is not None
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    return await take_tour(options, screen, by_spark=by_spark)


def _json(outcome: Outcome, record: Path) -> dict[str, object]:
    return {
        "steps": outcome.steps,
        "verdict": outcome.verdict,
        "judge": outcome.judge,
        "record": str(record),
        "report": None if outcome.report is None else str(outcome.report),
        "failure": outcome.failure,
    }


def _tell(outcome: Outcome, record: Path) -> None:
    if outcome.failure is not None:
        click.echo(f"\nThe tour stopped: {outcome.failure}", err=True)
        return
    seconds = sum(step["seconds"] for step in outcome.steps)
    click.echo(f"\nEverything went as promised: {outcome.verdict}, in {seconds:.0f} s." if outcome.is_good else "")
    if outcome.report is not None:
        click.echo(f"The report, a page for your browser: {outcome.report}")
    click.echo(f"The recordings are in {record}. Look into them:")
    click.echo(f"  ringcast check {record}")
    click.echo(f"  ringcast trace stats {record}")
