"""`ringcast status`: what a running member knows: members, windows, lag, rates, who waits for whom, who is missing."""

from __future__ import annotations

import time
from typing import Any

import click

from ringcast.cli.key_option import unneeded_key_option
from ringcast.cli.output import emit_json, folded, json_option
from ringcast.cli.rates import rates_between
from ringcast.runtime import ask, find_members, names_here, processes_here, short


@click.command(name="status")
@click.argument("address", required=False)
@click.option(
    "--over", default=0.5, show_default=True, type=click.FloatRange(0.01, 60), help="Seconds to measure the rates over."
)
@unneeded_key_option
@json_option
def command(address: str | None, over: float, as_json: bool) -> None:
    """Ask a member on this machine: its view, its windows, who waits for whom, who is missing.

    ADDRESS is the member's name or endpoint, its group's name, `group@name`, `group@endpoint`, or the path of its
    socket. Without it, the members that can be asked here are listed.

    \b
    Examples:
      ringcast status                          who can be asked here
      ringcast status alice
      ringcast status 127.0.0.1:7001
      ringcast status chat --json

    \b
    The columns:
      heard      when anything came from that member last
      received   its messages that came here, in order
      unread     of these, what the application here has not read yet: its senders wait for that
      lag        messages of the asked member that the other has not acked yet: who holds its sends back
    """
    if address is None:
        _list_members(as_json)
        return
    before = ask(address, "status")
    time.sleep(over)
    status = ask(address, "status")
    status["rates"] = rates_between(before, status, over)
    if as_json:
        emit_json(status)
    else:
        click.echo(folded(short(_in_words(status))))


def _list_members(as_json: bool) -> None:
    members = find_members()
    names, processes = names_here(members), processes_here(members)
    if as_json:
        emit_json({"members_here": list(members), "names": names, "processes": processes})
        return
    lines = [f"{key} {names.get(key, 'does not answer')}, process {processes.get(key, 'gone')}" for key in members]
    click.echo("\n".join(lines) or "no member runs here under this user")


def _in_words(status: dict[str, Any]) -> str:
    if status["view"] is None:
        return str(status["explanation"])
    lines = [f"{status['me']} at {status['endpoint']} is in group {status['group']}"]
    lines += [f"view {status['view']} for {status['view_since_seconds']:.1f} s", ""]
    lines += _table(status)
    sent, rates = status["windows"]["send"], status["rates"]
    window = f"window {sent['occupancy']}/{sent['capacity']} messages, {sent['bytes']}/{sent['max_bytes']} bytes"
    lines += ["", f"sent {sent['high']}, acked by all {sent['low']}: {window}"]
    lines.append(f"sends {rates['sent_per_second']:,.0f} and receives {rates['received_per_second']:,.0f} messages/s")
    lines += _waits(status)
    lines += [f"{absent['member']} is not in the group: {absent['because']}" for absent in status["absent"]]
    return "\n".join(lines)


def _table(status: dict[str, Any]) -> list[str]:
    rows = [("member", "", "heard", "received", "unread", "lag")]
    for member in status["members"]:
        peer = status["peers"][member]
        seconds = peer["heard_seconds"]
        heard = "" if member == status["me"] else "never" if seconds is None else f"{seconds:.1f} s ago"
        lag = "" if member == status["me"] else f"{peer['lag']:,}"
        name = short(member)
        rows.append((name, _role(status, member), heard, f"{peer['received']:,}", f"{peer['unread']:,}", lag))
    wide = [max(len(row[column]) for row in rows) for column in range(6)]
    return [
        f"  {row[0]:<{wide[0]}}  {row[1]:<{wide[1]}}"
        + "".join(f"  {cell:>{width}}" for cell, width in zip(row[2:], wide[2:], strict=True))
        for row in rows
    ]


def _role(status: dict[str, Any], member: str) -> str:
    roles = {
        "me": member == status["me"],
        "coordinator": member == status["coordinator"],
        "slow": member in status["slow"],
        "suspected": member in status["suspected"],
    }
    return ", ".join(role for role, has in roles.items() if has)


def _waits(status: dict[str, Any]) -> list[str]:
    waits = [f"{w['what']} waits for {w['since_seconds']:.1f} s: {w['because']}" for w in status["waiting"]]
    return waits or ["nothing waits"]
