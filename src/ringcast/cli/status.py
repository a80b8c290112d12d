"""`ringcast status`: what a running member knows."""

from __future__ import annotations

from typing import Any

import click

from ringcast.cli.output import emit_json, json_option
from ringcast.runtime import ask, find_members


@click.command(name="status")
@click.argument("address", required=False)
@json_option
def command(address: str | None, as_json: bool) -> None:
    """Ask a member on this machine: its view, its windows, who waits for whom.

    ADDRESS is the member's endpoint, its group's name, `group@endpoint`, or the path of its socket. Without it, the
    members that can be asked here are listed.

    \b
    Examples:
      ringcast status
      ringcast status 127.0.0.1:7001
      ringcast status chat --json
    """
    if address is None:
        members = list(find_members())
        if as_json:
            emit_json({"members_here": members})
        else:
            click.echo("\n".join(members) or "no member runs here under this user")
        return
    status = ask(address, "status")
    if as_json:
        emit_json(status)
    else:
        _tell(status)


def _tell(status: dict[str, Any]) -> None:
    click.echo(f"{status['me']} in group {status['group']}, view {status['view']}")
    for member in status["members"]:
        role = " (coordinator)" if member == status["coordinator"] else ""
        received = status["windows"]["receive"].get(member)
        window = (
            ""
            if received is None
            else f"  delivered {received['ready']}, read {received['taken']}, held {received['held']}"
        )
        click.echo(f"  {member}{role}{window}")
    sent = status["windows"]["send"]
    click.echo(
        f"sent {sent['high']}, acked by all {sent['low']}: window {sent['occupancy']}/{sent['capacity']} messages, "
        f"{sent['bytes']}/{sent['max_bytes']} bytes"
    )
    for wait in status["waiting"]:
        click.echo(f"{wait['what']} waits for {wait['since_seconds']:.1f} s: {wait['because']}")
    if not status["waiting"]:
        click.echo("nothing waits")
