"""Small pieces of HTML that every section uses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape


def headings(*names: str) -> str:
    """Heads of columns with figures."""
    return "".join(f'<th class="number">{name}</th>' for name in names)


def figures(*values: str) -> str:
    return "".join(f'<td class="number">{value}</td>' for value in values)


def tiles(shown: Mapping[str, str]) -> str:
    """Figures that stand out, each with its name below."""
    each = (f'<div class="tile"><b>{escape(b)}</b><span>{escape(name)}</span></div>' for name, b in shown.items())
    return f'<div class="tiles">{"".join(each)}</div>'


def duration(ns: float) -> str:
    for limit, unit in ((1e9, "s"), (1e6, "ms"), (1e3, "µs")):
        if ns >= limit:
            return f"{ns / limit:.3g} {unit}"
    return f"{ns:.0f} ns"


def durations(times: Sequence[int]) -> str:
    """Cells: how many, the median, nine in ten, the longest."""
    ordered = sorted(times)
    marks = (ordered[len(ordered) // 2], ordered[min(len(ordered) - 1, len(ordered) * 9 // 10)], ordered[-1])
    return figures(f"{len(ordered):,}", *(duration(mark) for mark in marks))
