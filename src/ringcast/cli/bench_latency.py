"""`ringcast bench latency`: round trips at a fixed rate, beside a bare echo."""

from __future__ import annotations

import asyncio
from typing import Any

import click

from ringcast.bench import run_latency
from ringcast.cli.output import emit_json, json_option, say_progress


@click.command(name="latency")
@click.option(
    "--rate", type=click.FloatRange(1, 100_000), default=1000.0, show_default=True, help="Round trips a second."
)
@click.option("--size", type=click.IntRange(16, 50_000), default=100, show_default=True, help="Bytes per message.")
@click.option(
    "--seconds", type=click.FloatRange(0.1, 3600), default=5.0, show_default=True, help="How long, for each part."
)
@click.option("--private", is_flag=True, help="On a stream between the two, instead of by multicast.")
@json_option
def command(rate: float, size: int, seconds: float, private: bool, as_json: bool) -> None:
    """A message to another member and its answer, timed from when it should have left.

    \b
    Examples:
      ringcast bench latency
      ringcast bench latency --rate 5000 --size 1000 --json
      ringcast bench latency --private

    Percentiles in microseconds, idle and under half load, each beside a bare asyncio UDP echo in the same run.
    """
    result = asyncio.run(run_latency(rate, size, seconds, private, say_progress))
    if as_json:
        emit_json(result)
    else:
        _tell(result)


def _tell(result: dict[str, Any]) -> None:
    for title, figures in (("idle", result), ("half load", result["half_load"])):
        click.echo(
            f"{title:>10}: p50 {figures['p50_us']:.0f} us, p99 {figures['p99_us']:.0f} us, "
            f"p99.9 {figures['p999_us']:.0f} us, max {figures['max_us']:.0f} us; "
            f"{figures['times_echo']:.1f} times a bare echo beside it ({figures['echo_p50_us']:.0f} us)"
        )
