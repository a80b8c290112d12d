"""`ringcast bench recorder`: what recording costs at full multicast speed."""

from __future__ import annotations

import click

from ringcast.cli.output import emit_json, json_option, say_progress

_EPILOG = """\b
Examples:
  ringcast bench recorder
  ringcast bench recorder --members 4 --size 100 --turns 5 --json
Exit code 1 if anything was lost, or if a recording dropped events.
"""


@click.command(epilog=_EPILOG)
@click.option("--members", default=4, show_default=True, help="Processes in the group.")
@click.option("--senders", default=1, show_default=True, help="How many of them send.")
@click.option("--size", default=1_000, show_default=True, type=click.IntRange(1), help="Bytes per message.")
@click.option("--seconds", default=2.0, show_default=True, type=click.FloatRange(0.1), help="Length of a turn.")
@click.option("--turns", default=3, show_default=True, type=click.IntRange(1), help="Turns of each kind.")
@json_option
def command(members: int, senders: int, size: int, seconds: float, turns: int, as_json: bool) -> int:
    """Send as fast as possible in turns with and without recording, and compare."""
    from ringcast.bench import Shape, run_recorder

    result = run_recorder(Shape(members, senders, size, seconds), turns, say_progress)
    if as_json:
        emit_json(result)
    else:
        click.echo(f"{result['unrecorded_messages_per_second_per_receiver']:>12,.0f} messages/s without recording")
        click.echo(f"{result['messages_per_second_per_receiver']:>12,.0f} messages/s with it")
        click.echo(f"{result['overhead']:>12.1%} less; {result['cpu_overhead']:.1%} more CPU per message")
        click.echo(
            f"{result['events']:,} events, {result['dropped_events']} dropped, {result['bytes_per_event']:.1f} B each"
        )
    return 0 if result["complete"] else 1
