"""`ringcast bench order`: messages per second in one order at each member, all sending to all."""

from __future__ import annotations

from typing import Any

import click

from ringcast.bench import OrderShape, run_order
from ringcast.cli.output import emit_json, json_option, say_progress


@click.command(name="order")
@click.option("--members", default=4, show_default=True, help="Processes in the group; all of them send.")
@click.option("--size", type=click.IntRange(1, 1 << 20), default=100, show_default=True, help="Bytes per message.")
@click.option(
    "--seconds",
    type=click.FloatRange(0, 3600, min_open=True),
    default=3.0,
    show_default=True,
    help="How long they send, for each form.",
)
@click.option("--frame-bytes", default=60_000, show_default=True, help="Largest packet; 1400 is what a LAN carries.")
@click.option("--record", type=click.Path(), default=None, help="Record the batch form into this directory.")
@click.option("--no-raw", is_flag=True, help="Leave out the raw limit of the sockets (needs a C compiler).")
@json_option
def command(as_json: bool, no_raw: bool, **shape: Any) -> None:
    """Real processes queue in the one order as fast as they can; every member checks every message and the order.

    \b
    Examples:
      ringcast bench order
      ringcast bench order --members 8 --size 1000 --json
      ringcast bench order --frame-bytes 1400              what a LAN carries

    A member's own copies count. Exit code 1 if anything was lost, or if two members read in different orders.
    """
    result = run_order(OrderShape(**shape), raw=not no_raw, say=say_progress)
    if as_json:
        emit_json(result)
    else:
        _tell(result)
    raise SystemExit(0 if result["complete"] else 1)


def _tell(result: dict[str, Any]) -> None:
    click.echo(
        f"{result['messages_per_second_per_receiver']:>12,.0f} messages/s in one order at each member, batch form"
    )
    click.echo(f"{result['single_form_messages_per_second_per_receiver']:>12,.0f} messages/s, one message at a time")
    click.echo(f"{result['megabytes_per_second_per_receiver']:>12,.1f} MB/s at each member")
    click.echo(f"{result['place_p50_us']:>12,.0f} µs until a single ordered send has its place (median)")
    click.echo(f"{result['plain_round_trip_p50_us']:>12,.0f} µs a plain round trip (median)")
    if "share_of_raw" in result:
        limit = result["raw_megabytes_per_second_per_receiver"]
        click.echo(f"{limit:>12,.1f} MB/s is the raw limit of the sockets; this is {result['share_of_raw']:.0%} of it")
    complete = "everything was read, in one order" if result["complete"] else "NOT everything was read in one order"
    click.echo(
        f"{complete}; {result['retransmitted']} retransmitted; largest process {result['rss_megabytes_max']:.0f} MB"
    )
