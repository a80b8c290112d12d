"""`ringcast explain`: why something waits, in words."""

from __future__ import annotations

import click

from ringcast.cli.output import emit_json, json_option
from ringcast.runtime import ask


@click.command(name="explain")
@click.argument("address")
@json_option
def command(address: str, as_json: bool) -> None:
    """Ask a member on this machine what waits there, why, and since when.

    ADDRESS is the member's endpoint, its group's name, `group@endpoint`, or the path of its socket.

    \b
    Examples:
      ringcast explain 127.0.0.1:7001
      ringcast explain chat@127.0.0.1:7001 --json
    """
    status = ask(address, "status")
    if as_json:
        emit_json(status)
    else:
        click.echo(status["explanation"])
