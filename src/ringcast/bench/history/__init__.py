"""Histories for tests and benchmarks, valid and of any size.

A history is a *period* told event by event (views, a split, a merge, multicast, total order), repeated with every
number moved on. So a hundred million deliveries cost no more thought than a million, and nothing differs from a
recording.
"""

from ringcast.bench.history.period import make_period
from ringcast.bench.history.shape import Period, Shape
from ringcast.bench.history.tiling import write_recordings

__all__ = ["Period", "Shape", "make_period", "write_recordings"]
