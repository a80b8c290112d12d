"""`ringcast top`: the members on this machine, live: views, windows, rates, who waits for whom."""

from __future__ import annotations

import sys
import time
from contextlib import suppress
from typing import Any

import click

from ringcast.cli.key_option import unneeded_key_option
from ringcast.cli.output import emit_json, json_option
from ringcast.cli.rates import rates_between
from ringcast.errors import RingcastError
from ringcast.runtime import ask, find_members, short


@click.command(name="top")
@click.option("--seconds", default=1.0, show_default=True, type=click.FloatRange(0.05, 3600), help="Between two looks.")
@click.option("--once", is_flag=True, help="One look (after one interval, so that rates are known), then end.")
@unneeded_key_option
@json_option
def command(seconds: float, once: bool, as_json: bool) -> None:
    """Watch the members that run on this machine under this user. Ctrl-C ends it.

    \b
    Examples:
      ringcast top
      ringcast top --seconds 0.2
      ringcast top --once --json

    \b
    The columns:
      of          members in its view        window   messages sent and not acked by all / capacity
      unread      not read by its application lag      how far the slowest member is behind it
      waits for   who holds its sends back; `ringcast explain ADDRESS` says it in words
    """
    before = _look()
    if as_json or once:
        time.sleep(seconds)
        rows = _rows(before, _look(), seconds)
        if as_json:
            emit_json({"members": rows})
        else:
            _print(rows)
        return
    _watch(before, seconds)


def _watch(before: dict[str, Any], seconds: float) -> None:
    from rich.live import Live

    with (
        suppress(KeyboardInterrupt),
        Live(_table(_rows(before, before, seconds)), screen=sys.stdout.isatty(), auto_refresh=False) as live,
    ):
        while True:
            time.sleep(seconds)
            now = _look()
            live.update(_table(_rows(before, now, seconds)), refresh=True)
            before = now


def _look() -> dict[str, Any]:
    found = {}
    for name, path in find_members().items():
        try:
            found[name] = ask(str(path), "status")
        except RingcastError:
            continue  # It ended between being found and being asked.
    return found


def _rows(before: dict[str, Any], now: dict[str, Any], seconds: float) -> list[dict[str, Any]]:
    return [_row(name, before.get(name, status), status, seconds) for name, status in now.items()]


def _row(name: str, before: dict[str, Any], now: dict[str, Any], seconds: float) -> dict[str, Any]:
    sent = now["windows"]["send"]
    return {
        "member": name,
        "me": now["me"],
        "view": now["view"],
        "members": len(now["members"]),
        **rates_between(before, now, seconds),
        "window": f"{sent['occupancy']}/{sent['capacity']}",
        "unread": sum(peer["unread"] for peer in now["peers"].values()),
        "lag": max((peer["lag"] for peer in now["peers"].values()), default=0),
        "waiting": [f"{wait['what']}: {wait['because']}" for wait in now["waiting"]],
        "waits_for": _waits_for(now),
        "absent": [absent["member"] for absent in now["absent"]],
    }


def _waits_for(status: dict[str, Any]) -> list[str]:
    """Who holds this member's sends back."""
    lags = {name: peer["lag"] for name, peer in status["peers"].items()}
    worst = max(lags.values(), default=0)
    return [name for name, lag in lags.items() if lag == worst] if status["waiting"] and worst else []


def _table(rows: list[dict[str, Any]]) -> Any:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, expand=True, title=f"{len(rows)} members here   {time.strftime('%H:%M:%S')}   Ctrl-C ends")
    for name in ("member", "view"):
        table.add_column(name, style="bold" if name == "member" else "", no_wrap=True, overflow="ellipsis")
    for name in ("of", "sent/s", "recv/s", "window", "unread", "lag"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("waits for", style="yellow", overflow="fold")
    for row in rows:
        rates = (f"{row['sent_per_second']:,.0f}", f"{row['received_per_second']:,.0f}")
        counts = (row["window"], f"{row['unread']:,}", f"{row['lag']:,}")
        who = short(", ".join(row["waits_for"])) or ", ".join(wait.partition(":")[0] for wait in row["waiting"])
        view = short(row["view"] or "none yet")
        table.add_row(Text(short(row["me"])), Text(view), str(row["members"]), *rates, *counts, Text(who or "-"))
    return table


def _print(rows: list[dict[str, Any]]) -> None:
    from rich.console import Console

    Console().print(_table(rows))
