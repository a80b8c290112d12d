"""`ringcast node`: be a member of a group from the shell; lines typed are sent, messages are printed."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import stat
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import click

from ringcast.cli.discovering import discovery_of
from ringcast.cli.output import json_option, printable, say_progress
from ringcast.errors import GroupClosed, NotPrimary, RingcastError, UsageError
from ringcast.model import GroupEvent, Message, Rejoin, StatesApart, Undelivered
from ringcast.runtime import Group, join

PATIENCE_SECONDS = 3.0


@click.command(name="node")
@click.argument("group")
@click.option("--name", default=None, help="This member's name; default: its endpoint.")
@click.option(
    "--bind", default="127.0.0.1:0", show_default=True, help="Where to listen; loopback unless told otherwise."
)
@click.option(
    "--advertise", default=None, help="What others use to reach it, if that differs (--bind 0.0.0.0:7001, NAT)."
)
@click.option(
    "--seed",
    "seeds",
    multiple=True,
    envvar="RINGCAST_NODE_SEED",
    help="Where a member may be found; may be given several times.",
)
@click.option(
    "--discover",
    metavar="WAY",
    default=None,
    help="Instead of seeds: dns://NAME:PORT, srv://NAME, dir://PATH or multicast://INTERFACE.",
)
@click.option("--metrics", metavar="HOST:PORT", default=None, help="Answer /metrics, /healthz and /readyz there.")
@click.option("--transport", type=click.Choice(["udp", "tcp"]), default="udp", show_default=True)
@click.option("--profile", type=click.Choice(["local", "lan", "wan"]), default="local", show_default=True)
@click.option(
    "--expect", default=0, type=click.IntRange(0), help="Wait for this many members before founding the group."
)
@click.option(
    "--found",
    type=click.Choice(["yes", "no", "first"]),
    default=None,
    help="Found the group when nobody answers; first: only the first --seed does. Default: yes, but with --partition "
    "primary no, unless --expect or --quorum is given.",
)
@click.option(
    "--remember",
    type=click.Path(path_type=Path, dir_okay=False),
    default=None,
    help="Keep in this file where the others are: a member that is started again looks for them too.",
)
@click.option(
    "--key-file",
    "key",
    type=click.Path(path_type=Path, dir_okay=False),
    default=None,
    help="The key that all members share (ringcast key new); default: $RINGCAST_KEY_FILE. SIGHUP reads it again.",
)
@click.option(
    "--certificate",
    type=click.Path(path_type=Path, dir_okay=False),
    default=None,
    help="With --transport tcp, instead of a key: this member's certificate; its name must stand in it.",
)
@click.option(
    "--private-key", type=click.Path(path_type=Path, dir_okay=False), default=None, help="That belongs to it."
)
@click.option(
    "--authority",
    type=click.Path(path_type=Path, dir_okay=False),
    default=None,
    help="The certificate of those who sign members' certificates.",
)
@click.option("--unencrypted", is_flag=True, help="Allow --bind beyond loopback without a key: on a network you trust.")
@click.option("--observer", is_flag=True, help="Be in the view, but never coordinate.")
@click.option(
    "--partition",
    type=click.Choice(["all", "primary"]),
    default="all",
    show_default=True,
    help="Which sides of a partition go on.",
)
@click.option(
    "--primary-mark",
    type=click.Path(path_type=Path, dir_okay=False),
    default=None,
    help="With --partition primary: keep what this member knows of primary views in this file (needs --name).",
)
@click.option(
    "--quorum",
    default=0,
    type=click.IntRange(0),
    help="With --partition primary: so many members make a primary view, always the same number.",
)
@click.option("--stay", is_flag=True, help="Stay when standard input ends: as a service, or in a container.")
@click.option("--record", type=click.Path(path_type=Path), default=None, help="Record into this directory.")
@click.option(
    "--join-timeout",
    default=60.0,
    show_default=True,
    type=click.FloatRange(0, min_open=True),
    help="Seconds to wait for the first view.",
)
@json_option
def command(
    group: str, profile: str, join_timeout: float, discover: str | None, stay: bool, as_json: bool, **place: Any
) -> None:
    """Join GROUP (or found it) and stay: standard input is sent line by line, what arrives is printed.

    \b
    Examples:
      ringcast node chat --name alice --bind 127.0.0.1:7001
      ringcast node chat --name bob --seed 127.0.0.1:7001
      ringcast node chat --discover dns://chat.default.svc:7001 --metrics 0.0.0.0:9464     in Kubernetes

    \b
    On two machines, 10.0.0.1 and 10.0.0.2 (UDP port 7001 open between them):
      ringcast key new -o chat.key && scp -p chat.key 10.0.0.2:
      ringcast node chat --name alice --bind 10.0.0.1:7001 --profile lan --key-file chat.key
      ringcast node chat --name bob --bind 10.0.0.2:7001 --seed 10.0.0.1:7001 --profile lan --key-file chat.key

    It leaves in good order when its input ends, on Ctrl-C and on SIGTERM. Without an input of its own (a service, a
    container) use --stay. With --json each event is one JSON line.
    """
    if discover is not None and place["seeds"]:
        raise UsageError("--seed and --discover are two ways to find members: choose one of them")
    place["found"] = {"yes": True, "no": False}.get(place["found"], place["found"])
    place["discovery"] = None if discover is None else discovery_of(discover)
    asyncio.run(_be_a_member(group, as_json, stay, config=profile, timeout=join_timeout, **place))


async def _be_a_member(group_name: str, as_json: bool, stay: bool, **place: Any) -> None:
    with contextlib.suppress(asyncio.CancelledError):
        joining = join(group_name, **place)
        patience = asyncio.create_task(_say_if_it_takes_long(group_name, place["seeds"]))
        async with joining as group:
            patience.cancel()
            name, here = group.me.name, group.me.endpoint
            say_progress(f"{name} is in group {group_name}, at {here}; ask me with: ringcast explain {name}")
            printing = asyncio.create_task(_print(group, as_json))
            if group.status()["keys"] is not None:
                asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, _reload_keys, group)
            elif place["certificate"] is not None:
                asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, _reload_certificates, group)
            await _send_lines(group)
            await group.flush()
            if stay:
                await printing
            printing.cancel()


def _reload_keys(group: Group) -> None:
    try:
        primary, *accepted = group.reload_keys()
    except RingcastError as error:
        say_progress(f"the keys stay as they were: {error}")
        return
    also = f", opens what {', '.join(accepted)} sealed too" if accepted else ""
    say_progress(f"{group.me.name} seals with key {primary}{also}")


def _reload_certificates(group: Group) -> None:
    try:
        group.reload_certificates()
    except RingcastError as error:
        say_progress(f"the certificate stays as it was: {error}")
        return
    say_progress(f"{group.me.name} shows its certificate as it is now")


async def _say_if_it_takes_long(group_name: str, seeds: tuple[str, ...]) -> None:
    await asyncio.sleep(PATIENCE_SECONDS)
    where = f" at {', '.join(seeds)}" if seeds else ", without a seed"
    say_progress(f"still looking for group {group_name}{where}; `ringcast status` lists whom you can ask why")


async def _send_lines(group: Group) -> None:
    async for line in _typed():
        try:
            await group.send(line.rstrip(b"\n"))
        except GroupClosed:
            pass
        except NotPrimary as refused:
            say_progress(str(refused))


async def _typed() -> AsyncIterator[bytes]:
    """Standard input, line by line. A file is read as it is: only pipes, sockets and terminals can be waited for."""
    mode = os.fstat(sys.stdin.fileno()).st_mode
    if not (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or sys.stdin.isatty()):
        while line := await asyncio.to_thread(sys.stdin.buffer.readline):
            yield line
        return
    lines = asyncio.StreamReader(limit=1 << 20)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    while line := await lines.readline():
        yield line


async def _print(group: Group, as_json: bool) -> None:
    async for event in group:
        click.echo(_as_json(event) if as_json else printable(_in_words(event)))


def _as_json(event: GroupEvent) -> str:
    if isinstance(event, Message):
        text = event.payload.decode(errors="replace")
        return json.dumps({"from": str(event.sender), "message": text, "private": event.private})
    if isinstance(event, Rejoin):
        return json.dumps({"rejoin": str(event)})
    if isinstance(event, StatesApart):
        return json.dumps({"states_apart": event.why})
    if isinstance(event, Undelivered):
        return json.dumps({"undelivered": {"to": str(event.to), "first": event.first, "count": event.count}})
    sides = [[str(member) for member in side] for side in event.view.subgroups]
    members = [str(member) for member in event.view.members]
    return json.dumps({"view": str(event.view.id), "members": members, "merged": sides})


def _in_words(event: GroupEvent) -> str:
    if isinstance(event, Message):
        return f"{event.sender.name}: {event.payload.decode(errors='replace')}"
    if isinstance(event, Rejoin):
        return "-- this member was excluded; it comes back as a new one"
    if isinstance(event, StatesApart):
        return f"-- the states of the sides did not become one: {event.why}"
    if isinstance(event, Undelivered):
        return f"-- {event.to.name} left before it had acked the last {event.count} messages to it"
    if event.view.is_merge:
        sides = " with ".join(", ".join(member.name for member in side) for side in event.view.subgroups)
        return f"-- view {event.view.id.number}, merged: {sides}; what each side sent while apart stayed there"
    return f"-- view {event.view.id.number}: {', '.join(member.name for member in event.view.members)}"
