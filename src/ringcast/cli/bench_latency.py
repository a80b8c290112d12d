"""`ringcast bench latency`: round trips at a fixed rate or one after the other, beside a bare echo."""

from __future__ import annotations

import asyncio
from importlib.util import find_spec
from typing import Any

import click

from ringcast.bench import LatencyShape, run_latency
from ringcast.cli.output import emit_json, json_option, say_progress
from ringcast.errors import UsageError


@click.command(name="latency")
@click.option(
    "--rate", type=click.FloatRange(1, 100_000), default=1000.0, show_default=True, help="Round trips a second."
)
@click.option("--size", type=click.IntRange(16, 50_000), default=100, show_default=True, help="Bytes per message.")
@click.option(
    "--seconds", type=click.FloatRange(0.1, 3600), default=5.0, show_default=True, help="How long, for each part."
)
@click.option("--private", is_flag=True, help="On a stream between the two, instead of by multicast.")
@click.option("--closed-loop", is_flag=True, help="Each when the answer to the one before was read; no rate.")
@click.option("--order", type=click.Choice(["fifo", "total"]), default="fifo", help="total: time ordered sends too.")
@click.option("--loop", type=click.Choice(["asyncio", "uvloop"]), default="asyncio", help="What the members run on.")
@json_option
def command(as_json: bool, order: str, **shape: Any) -> None:
    """A message to another member and its answer; at a rate it is timed from when it should have left.

    \b
    Examples:
      ringcast bench latency
      ringcast bench latency --closed-loop
      ringcast bench latency --closed-loop --order total --json
      ringcast bench latency --rate 5000 --size 1000 --loop uvloop
      ringcast bench latency --private

    Percentiles in microseconds, idle and under half load, each beside a bare asyncio UDP echo in the same run. Both by
    multicast and on a stream between the two (`private_p50_us`).
    """
    wanted = LatencyShape(in_order=order == "total", **shape)
    if wanted.loop == "uvloop" and find_spec("uvloop") is None:
        raise UsageError("--loop uvloop needs uvloop: pip install 'ringcast[uvloop]'")
    result = asyncio.run(run_latency(wanted, say_progress))
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
    click.echo(f"{'one peer':>10}: p50 {result['private_p50_us']:.0f} us on a stream between the two")
    if "total_p50_us" in result:
        place, times = result["total_p50_us"], result["total_p50_us"] / result["p50_us"]
        click.echo(f"{'in order':>10}: p50 {place:.0f} us until it has its place, {times:.1f} round trips")
