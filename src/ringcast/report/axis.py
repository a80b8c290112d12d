"""The time axis of a report: where something happens it is wide, where nothing does it is short.

Between two moments the axis gets the cube root of the time between them, so a pause a thousand times as long is
drawn ten times as wide. Of many moments those that are closest together are one. Positions go from 0 to 1, never back.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from math import cbrt

NEAREST = 1e-5  # moments within this share of the run are one
MOST = 120
Knot = tuple[float, float]  # seconds, position


def knots(moments: Iterable[float], length: float) -> list[Knot]:
    """Times and their places on the axis, from (0, 0) to (length, 1)."""
    length = max(length, 1e-6)
    nearest = length * NEAREST
    times = _apart(sorted(moments), length, nearest)
    while len(times) > MOST:
        nearest *= 2
        times = _apart(times[1:], length, nearest)
    times.append(length)
    widths = [cbrt(after - before) for before, after in pairwise(times)]
    whole, at = sum(widths), 0.0
    found: list[Knot] = [(0.0, 0.0)]
    for time, width in zip(times[1:], widths, strict=True):
        at += width
        found.append((round(time, 6), round(at / whole, 6)))
    return found


def _apart(moments: Iterable[float], length: float, nearest: float) -> list[float]:
    """0 and those moments that are at least so far from the one before and from the end."""
    times = [0.0]
    for moment in moments:
        if moment - times[-1] >= nearest and length - moment >= nearest:
            times.append(moment)
    return times
