"""Buckets of many values at once; ringcast.report has the histograms. No percentile needs a shuffle of latencies."""

from __future__ import annotations

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
