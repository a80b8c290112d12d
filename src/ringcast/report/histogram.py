"""Log-linear histograms: sixteen steps in each doubling, so a figure is known to 6 %, and histograms add up."""

from __future__ import annotations

from collections.abc import Mapping

STEPS = 16
BITS = 4


def bucket(value: int) -> int:
    """The bucket of a value; below 32 every value has its own, negative ones count as 0."""
    value = max(0, value)
    doubling = max(0, value.bit_length() - 1 - BITS)
    return doubling * STEPS + (value >> doubling)


def lower_bound(number: int) -> int:
    """The smallest value of a bucket."""
    if number < 2 * STEPS:
        return number
    doubling = number // STEPS - 1
    return (number - doubling * STEPS) << doubling


def percentile(histogram: Mapping[int, int], share: float) -> int | None:
    """The value that this share of all lies at or below; a histogram maps the lower bounds of buckets to counts."""
    total = sum(histogram.values())
    seen = 0
    for low in sorted(histogram):
        seen += histogram[low]
        if seen >= share * total:
            return low
    return None
