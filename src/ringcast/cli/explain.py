"""`ringcast explain`: why something waits, and why somebody is not in the group, in words."""

from __future__ import annotations

import click

from ringcast.cli.key_option import unneeded_key_option
from ringcast.cli.output import emit_json, folded, json_option
from ringcast.runtime import ask


@click.command(name="explain")
@click.argument("address")
@unneeded_key_option
@json_option
def command(address: str, as_json: bool) -> None:
    """Ask a member on this machine what waits there, because of whom, since when, and what would free it.

    ADDRESS is the member's name or endpoint, its group's name, `group@name`, `group@endpoint`, or the path of its
    socket. A process that is still on its way into the group can be asked, too.

    \b
    Examples:
      ringcast explain bob
      ringcast explain chat@127.0.0.1:7001 --json

    \b
    Questions it answers:
      Why does my send wait?       whose application does not read, or who was not heard, and since when
      Why is D not in the group?   it left, or was excluded: when, why, and how it comes back; ask D too
      Did the merge lose anything? who was on which side, and how much each sent that stayed there
      Why can D not join?          ask D: where it looks, whom it asks, what it is told
    """
    status = ask(address, "status")
    if as_json:
        emit_json(status)
    else:
        click.echo(folded(status["explanation"]))
