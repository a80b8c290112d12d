"""Plots as SVG text, drawn for this page and nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

WIDTH, HEIGHT, LEFT, BOTTOM, TOP = 880, 210, 64, 26, 22
COLOURS = tuple(f"var(--c{number})" for number in range(8))


def lines(series: Mapping[str, Sequence[float]], x_end: float, x_unit: str, y_unit: str) -> str:
    """Several lines over the same x axis from 0 to `x_end`; names are HTML already."""
    top = max((max(values, default=0) for values in series.values()), default=0) or 1
    parts = [_frame(x_end, x_unit, top, y_unit)]
    for number, (name, values) in enumerate(series.items()):
        points = " ".join(f"{_x(i, len(values) - 1):.1f},{_y(v, top):.1f}" for i, v in enumerate(values))
        colour = COLOURS[number % len(COLOURS)]
        parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.6"/>')
        parts.append(_legend(number, name, colour))
    return _svg(parts, HEIGHT + 18 * ((len(series) + 5) // 6))


def _legend(number: int, name: str, colour: str) -> str:
    x, y = LEFT + (number % 6) * 135, HEIGHT + 14 + 18 * (number // 6)
    mark = f'<rect x="{x}" y="{y - 8}" width="10" height="10" fill="{colour}"/>'
    return f'{mark}<text x="{x + 14}" y="{y + 1}">{name}</text>'


def bars(values: Sequence[tuple[str, float]], y_unit: str) -> str:
    """Bars with their names below; every so often a name, so that they do not run into each other."""
    top = max((value for _, value in values), default=0) or 1
    width = (WIDTH - LEFT - 10) / max(1, len(values))
    parts = [_frame(None, "", top, y_unit)]
    every = max(1, len(values) // 12)
    for i, (name, value) in enumerate(values):
        x, y = LEFT + i * width, _y(value, top)
        parts.append(
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(0.8, width - 1):.1f}" height="{HEIGHT - BOTTOM - y:.1f}" '
            f'fill="{COLOURS[0]}"><title>{escape(name)}: {value:,.0f}</title></rect>'
        )
        if i % every == 0:
            parts.append(f'<text x="{x:.1f}" y="{HEIGHT - 8}">{escape(name)}</text>')
    return _svg(parts, HEIGHT)


def timeline(rows: Mapping[str, Sequence[tuple[float, float, str, bool]]], x_end: float) -> str:
    """One row per member; blocks (from, to, name, is_merge) in the colour of their name."""
    height, colours = 26, dict[str, str]()
    parts = []
    for r, (member, blocks) in enumerate(rows.items()):
        y = TOP + r * height
        parts.append(f'<text x="0" y="{y + 15}">{member}</text>')
        parts += [_block(block, y, height - 6, colours, x_end) for block in blocks]
    bottom = TOP + len(rows) * height + 14
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        x, anchor = _at(share, 1), "end" if share == 1 else "middle" if share else "start"
        parts.append(f'<text x="{x:.0f}" y="{bottom}" text-anchor="{anchor}">{x_end * share:,.3g} s</text>')
    return _svg(parts, bottom + 6)


def _block(block: tuple[float, float, str, bool], y: int, height: int, colours: dict[str, str], x_end: float) -> str:
    start, end, name, is_merge = block
    colour = colours.setdefault(name, COLOURS[len(colours) % len(COLOURS)])
    x, stop = _at(start, x_end), _at(end, x_end)
    width = max(1.0, stop - x - 1)
    edge = f'<rect x="{x:.1f}" y="{y - 1}" width="3" height="{height + 2}" fill="var(--merge)"/>' if is_merge else ""
    box = (
        f'<rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="{height}" rx="3" fill="{colour}">'
        f"<title>view {name}</title></rect>"
    )
    number = name.partition(" ")[0]
    label = name if width > 7 * len(name) else number if width > 9 * len(number) else ""
    text = f'<text class="on" x="{x + 7:.1f}" y="{y + 14}">{label}</text>' if label else ""
    return box + edge + text


def _svg(parts: Sequence[str], height: int) -> str:
    return f'<svg viewBox="0 0 {WIDTH} {height}" role="img">{"".join(parts)}</svg>'


def _frame(x_end: float | None, x_unit: str, top: float, y_unit: str) -> str:
    base = HEIGHT - BOTTOM
    parts = [f'<line x1="{LEFT}" y1="{base}" x2="{WIDTH - 10}" y2="{base}" class="axis"/>']
    for share in (0.5, 1.0):
        y = _y(top * share, top)
        parts.append(f'<line x1="{LEFT}" y1="{y}" x2="{WIDTH - 10}" y2="{y}" class="grid"/>')
        parts.append(f'<text x="{LEFT - 4}" y="{y + 4}" text-anchor="end">{_short(top * share)}</text>')
    parts.append(f'<text x="{LEFT}" y="{TOP - 10}">{escape(y_unit)}</text>')
    if x_end is not None:
        parts.append(f'<text x="{WIDTH - 10}" y="{base + 16}" text-anchor="end">{x_end:,.3g} {escape(x_unit)}</text>')
    return "".join(parts)


def _x(i: int, last: int) -> float:
    return LEFT + (WIDTH - LEFT - 10) * i / max(1, last)


def _at(value: float, end: float) -> float:
    return LEFT + (WIDTH - LEFT - 10) * value / (end or 1)


def _y(value: float, top: float) -> float:
    return TOP + (HEIGHT - BOTTOM - TOP) * (1 - value / top)


def _short(value: float) -> str:
    for limit, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= limit:
            return f"{value / limit:.3g}{unit}"
    return f"{value:.3g}"
