"""`ringcast bench bus`: messages per second on the shared-memory bus, beside other ways on the same host."""

from __future__ import annotations

from typing import Any

import click

from ringcast.bench import BusShape, run_bus
from ringcast.cli.output import emit_json, json_option, say_progress


@click.command(name="bus")
@click.option("--producers", default=1, show_default=True, help="Processes that queue.")
@click.option("--consumers", default=1, show_default=True, help="Processes that each read every message.")
@click.option("--size", default=100, show_default=True, help="Bytes per message.")
@click.option("--seconds", default=3.0, show_default=True, help="How long they queue, for each form.")
@click.option("--peers", is_flag=True, help="Measure Queue, Pipe, Unix datagrams and pyzmq in the same shape too.")
@click.option("--record", type=click.Path(), default=None, help="Record the batch form into this directory.")
@json_option
def command(as_json: bool, peers: bool, **shape: Any) -> None:
    """Real processes on one bus; every consumer checks every message, its sender's order and the one order.

    \b
    Examples:
      ringcast bench bus --peers                           1 to 1, beside other ways
      ringcast bench bus --producers 3 --consumers 3       every message to all, in one order
      ringcast bench bus --size 10000 --seconds 1 --json
      ringcast bench bus --record out && ringcast check out

    \b
    What is measured, one after the other:
      batch form       queue_many and dequeue_runs, batches of up to 256 messages
      single form      queue and dequeue, one message per call
      round trip       there and back between two processes that wait in asyncio, and the same over two pipes
      raw              what pipes of the kernel move in this shape, in pieces of 64 KiB
      --peers          the same shape and size with each other way, one message per call, every receiver counting
                       everything; `pyzmq ipc multipart` sends 256 messages as the parts of one

    None of the other ways gives one order. Compare figures of one run only: machines differ more than libraries.
    Exit code 1 if anything was lost, or if two consumers read in different orders.
    """
    result = run_bus(BusShape(**shape), peers=peers, say=say_progress)
    if as_json:
        emit_json(result)
    else:
        _tell(result)
    raise SystemExit(0 if result["complete"] else 1)


bus = command


def _tell(result: dict[str, Any]) -> None:
    click.echo(f"{result['messages_per_second_per_receiver']:>12,.0f} messages/s at each consumer, batch form")
    click.echo(f"{result['single_form_messages_per_second_per_receiver']:>12,.0f} messages/s, one message at a time")
    share = f"{result['share_of_raw']:.2f} of what pipes of the kernel move"
    click.echo(f"{result['megabytes_per_second_per_receiver']:>12,.1f} MB/s at each consumer, {share}")
    for name, words in (("round_trip", "over the bus"), ("pipe_round_trip", "over a pipe")):
        p50, p99 = result[f"{name}_p50_us"], result[f"{name}_p99_us"]
        click.echo(f"{p50:>12,.0f} µs there and back {words} in asyncio (median; p99 {p99:,.0f} µs)")
    losses = result["peers_lost"]
    for name, rate in result["peers"].items():
        lost = f" (incomplete: {losses[name]} lost)" if name in losses else ""
        click.echo(f"{rate:>12,.0f} messages/s with {name}{lost}")
    complete = "everything was read, in one order" if result["complete"] else "NOT everything was read in one order"
    click.echo(f"{complete}; largest process {result['rss_megabytes_max']:.0f} MB")
