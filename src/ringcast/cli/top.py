"""`ringcast top`: the members on this machine, live: views, windows, rates, who waits for whom."""

from __future__ import annotations

import time
from typing import Any

import click

from ringcast.cli.output import emit_json, json_option
from ringcast.errors import RingcastError
from ringcast.runtime import ask, find_members


@click.command(name="top")
@click.option("--seconds", default=1.0, show_default=True, help="Between two looks.")
@click.option("--once", is_flag=True, help="One look (after one interval, so that rates are known), then end.")
@json_option
def command(seconds: float, once: bool, as_json: bool) -> None:
    """Watch the members that run on this machine under this user. Ctrl-C ends it.

    \b
    Examples:
      ringcast top
      ringcast top --once --json
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

    with Live(_table(_rows(before, before, seconds))) as live:
        while True:
            time.sleep(seconds)
            now = _look()
            live.update(_table(_rows(before, now, seconds)))
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
        "view": now["view"],
        "members": len(now["members"]),
        "sent_per_second": (sent["high"] - before["windows"]["send"]["high"]) / seconds,
        "received_per_second": (_ready(now) - _ready(before)) / seconds,
        "window": f"{sent['occupancy']}/{sent['capacity']}",
        "unread": sum(window["ready"] - window["taken"] for window in now["windows"]["receive"].values()),
        "waiting": [f"{wait['what']}: {wait['because']}" for wait in now["waiting"]],
    }


def _ready(status: dict[str, Any]) -> int:
    return sum(window["ready"] for window in status["windows"]["receive"].values())


def _table(rows: list[dict[str, Any]]) -> Any:
    from rich.table import Table

    table = Table("member", "view", "members", "sent/s", "received/s", "window", "unread", "waits")
    for row in rows:
        rates = (f"{row['sent_per_second']:,.0f}", f"{row['received_per_second']:,.0f}")
        waits = "; ".join(row["waiting"]) or "-"
        table.add_row(row["member"], row["view"], str(row["members"]), *rates, row["window"], str(row["unread"]), waits)
    return table


def _print(rows: list[dict[str, Any]]) -> None:
    from rich.console import Console

    Console(width=160).print(_table(rows))
