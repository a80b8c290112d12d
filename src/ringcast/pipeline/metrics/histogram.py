"""Log-linear histograms: sixteen steps in each doubling, so a figure is known to 6 %, and histograms add up.

That is why no percentile needs a shuffle of single latencies.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]
_STEPS = 16
_BITS = 4


def bucket_of(values: Array) -> Array:
    """The bucket of each value; below 32 every value has its own, negative ones count as 0."""
    values = np.maximum(values, 0).astype(np.int64)
    doubling = np.maximum(0, np.log2(np.maximum(values, 1)).astype(np.int64) - _BITS)
    buckets: Array = doubling * _STEPS + (values >> doubling)
    return buckets


def lower_bound(bucket: int) -> int:
    """The smallest value of a bucket."""
    if bucket < 2 * _STEPS:
        return bucket
    doubling = bucket // _STEPS - 1
    return (bucket - doubling * _STEPS) << doubling


def percentile(histogram: Mapping[int, int], share: float) -> int | None:
    """The value that this share of all lies at or below; a histogram maps the lower bounds of buckets to counts."""
    total = sum(histogram.values())
    seen = 0
    for low in sorted(histogram):
        seen += histogram[low]
        if seen >= share * total:
            return low
    return None
