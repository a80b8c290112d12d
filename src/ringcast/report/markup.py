"""Small pieces of HTML that every section uses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape


def tiles(shown: Mapping[str, str]) -> str:
    """Figures that stand out, each with its name below."""
    each = (f'<div class="tile"><b>{escape(b)}</b><span>{escape(name)}</span></div>' for name, b in shown.items())
    return f'<div class="tiles">{"".join(each)}</div>'


def table(heads: Sequence[str], rows: Iterable[Sequence[str]], words: int = 1) -> str:
    """A table whose first `words` columns are text and the others figures; on a phone each row is a card."""
    kinds = ["" if at < words else ' class="number"' for at in range(len(heads))]
    top = "".join(f'<th scope="col"{kind}>{escape(head)}</th>' for head, kind in zip(heads, kinds, strict=True))
    body = "".join(f"<tr>{_cells(heads, row, kinds)}</tr>" for row in rows)
    return f'<table class="cards"><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>'


def _cells(heads: Sequence[str], row: Sequence[str], kinds: Sequence[str]) -> str:
    return "".join(
        f'<td{kind} data-label="{escape(head)}">{escape(value)}</td>'
        for head, value, kind in zip(heads, row, kinds, strict=True)
    )


def section(anchor: str, title: str, *parts: str, note: str = "") -> str:
    told = f'<p class="soft">{escape(note)}</p>' if note else ""
    head = f'<h2 id="{anchor}-title">{escape(title)}</h2>{told}'
    return f'<section id="{anchor}" aria-labelledby="{anchor}-title">{head}{"".join(parts)}</section>'


def duration(ns: float) -> str:
    for limit, unit in ((1e9, "s"), (1e6, "ms"), (1e3, "µs")):
        if ns >= limit:
            return f"{ns / limit:.3g} {unit}"
    return f"{ns:.0f} ns"


def durations(times: Sequence[int]) -> list[str]:
    """Cells: how many, the median, nine in ten, the longest."""
    ordered = sorted(times)
    marks = (ordered[len(ordered) // 2], ordered[min(len(ordered) - 1, len(ordered) * 9 // 10)], ordered[-1])
    return [f"{len(ordered):,}", *(duration(mark) for mark in marks)]
