"""`ringcast bench multicast`: messages per second to each receiver, beside the raw limit and, if asked, pyzmq."""

from __future__ import annotations

from typing import Any

import click

from ringcast.bench import FORMS, Shape, run_multicast
from ringcast.cli.output import emit_json, json_option, say_progress
from ringcast.errors import UsageError
from ringcast.lab import namespace

WORDS = {
    "user_form_messages_per_second_per_receiver": "user's form: join, own messages too, `await send`, `async for`",
    "single_form_messages_per_second_per_receiver": "sent one by one, read in runs, fixed members",
    "messages_per_second_per_receiver": "batch form: lists sent, runs read, fixed members",
}


@click.command(name="multicast")
@click.option("--members", default=4, show_default=True, help="Processes in the group.")
@click.option("--senders", default=1, show_default=True, help="How many of them send.")
@click.option("--size", type=click.IntRange(1, 1 << 20), default=1000, show_default=True, help="Bytes per message.")
@click.option(
    "--seconds",
    type=click.FloatRange(0, 3600, min_open=True),
    default=3.0,
    show_default=True,
    help="How long they send, for each form.",
)
@click.option("--transport", type=click.Choice(["udp", "tcp", "memory"]), default="udp", show_default=True)
@click.option("--ip-multicast", is_flag=True, help="One packet for all, inside a network namespace of its own.")
@click.option("--frame-bytes", default=64_000, show_default=True, help="Largest packet; 1400 is what a LAN carries.")
@click.option(
    "--loss-percent", default=0, show_default=True, help="Lose packets at random, by the namespace's firewall."
)
@click.option(
    "--form",
    "forms",
    type=click.Choice(FORMS),
    multiple=True,
    help="Only this form; may be given several times. Without it all three.",
)
@click.option("--peers", is_flag=True, help="Measure pyzmq PUB/SUB (tcp, ipc) in the same shape too.")
@click.option("--no-raw", is_flag=True, help="Leave out the raw limit of the sockets (needs a C compiler).")
@click.option(
    "--batch-scheduling", is_flag=True, help="Every process of the run, also raw and pyzmq, under SCHED_BATCH."
)
@click.option("--record", type=click.Path(), default=None, help="Record the last of the forms there.")
@json_option
def command(
    as_json: bool, peers: bool, no_raw: bool, batch_scheduling: bool, forms: tuple[str, ...], **shape: Any
) -> None:
    """Real processes send as fast as they can; every receiver checks every message.

    \b
    Examples:
      ringcast bench multicast --size 100
      ringcast bench multicast --size 100 --form user --peers
      ringcast bench multicast --senders 4 --size 1000 --ip-multicast
      ringcast bench multicast --transport tcp --peers --json
      ringcast bench multicast --frame-bytes 1400          what a LAN carries
      ringcast bench multicast --loss-percent 10           a bad network

    The user form is what the guide shows: join, own messages delivered, fresh payloads, `await send` one by one, and an
    `async for` whose body counts and compares the length. The single and the batch form have fixed members, read runs
    and compare every payload; there own copies count with several senders only. `share_of_raw` compares the batch form
    with a C program that pushes 60 kB packets through the same sockets in the same shape. Exit code 1 if anything was
    lost or out of order.
    """
    wanted = Shape(**shape)
    if wanted.needs_namespace and not namespace.is_inside():
        why = namespace.why_not()
        if why is not None:
            raise UsageError(f"--ip-multicast and --loss-percent need a network namespace: {why}")
        namespace.enter()
    result = run_multicast(
        wanted, peers=peers, raw=not no_raw, say=say_progress, in_batches=batch_scheduling, forms=forms or FORMS
    )
    if as_json:
        emit_json(result)
    else:
        _tell(result)
    raise SystemExit(0 if result["complete"] else 1)


def _tell(result: dict[str, Any]) -> None:
    for key, words in WORDS.items():
        if key in result:
            click.echo(f"{result[key]:>12,.0f} messages/s at each receiver, {words}")
    click.echo(f"{result['megabytes_per_second_per_receiver']:>12,.1f} MB/s at each receiver")
    if "share_of_raw" in result:
        click.echo(
            f"{result['share_of_raw']:>12.0%} of the raw {result['raw_megabytes_per_second_per_receiver']:,.0f} MB/s"
        )
    for form, spent in result["cpu_us_per_message"].items():
        click.echo(f"{spent:>12,.2f} us of CPU per message, all processes together, {form} form")
    for name, rate in result["peers"].items():
        click.echo(f"{rate:>12,.0f} messages/s, {name}")
    complete = "everything arrived, in order" if result["complete"] else "NOT everything arrived in order"
    click.echo(
        f"{complete}; {result['retransmitted']} retransmitted; largest process {result['rss_megabytes_max']:.0f} MB"
    )
