"""Rates over the last second of event time, in ten buckets: cheap to count, cheap to ask.

Not a history: what lies more than a second back is forgotten.
"""

from __future__ import annotations

from ringcast.model import MS

BUCKET_NS = 100 * MS
BUCKETS = 10


class Meter:
    """How many per second, counted by the time of the events."""

    __slots__ = ("_at", "_counts", "total")

    def __init__(self) -> None:
        self.total = 0
        self._counts = [0] * BUCKETS
        self._at = 0  # number of the newest bucket

    def add(self, t_ns: int, count: int) -> None:
        self.total += count
        bucket = t_ns // BUCKET_NS
        if bucket > self._at:
            self._forget(bucket)
        if bucket > self._at - BUCKETS:
            self._counts[bucket % BUCKETS] += count

    def per_second(self, now_ns: int) -> int:
        bucket = now_ns // BUCKET_NS
        if bucket > self._at:
            self._forget(bucket)
        return sum(self._counts)

    def _forget(self, bucket: int) -> None:
        for old in range(max(self._at + 1, bucket - BUCKETS + 1), bucket + 1):
            self._counts[old % BUCKETS] = 0
        self._at = bucket
