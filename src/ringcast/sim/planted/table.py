"""The table of planted bugs, as the docs keep it: what each breaks, where it was planted, how many seeds it took."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from ringcast.errors import UsageError
from ringcast.sim.planted.hunt import Caught

BEGIN, END = "<!-- table: begin -->", "<!-- table: end -->"


def table_of(caught: Iterable[Caught]) -> str:
    """A table in Markdown, a row for each bug."""
    rows = [_row(one) for one in caught]
    return "\n".join(["| bug | caught as | seeds needed | stated | replaced |", "|---|---|---|---|---|", *rows])


def _row(caught: Caught) -> str:
    bug = caught.bug
    needed = "not caught" if caught.seeds_needed is None else str(caught.seeds_needed)
    return f"| {bug.name} | {bug.guarantee} | {needed} | {bug.seeds} | `{bug.target.rpartition(':')[2]}` |"


def refresh(page: Path, caught: Iterable[Caught]) -> None:
    """Put the table between the marks of a page."""
    text = page.read_text()
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise UsageError(f"{page} has no place for the table: write {BEGIN} and {END} where it belongs")
    page.write_text(f"{before}{BEGIN}\n{table_of(caught)}\n{END}{after}")
