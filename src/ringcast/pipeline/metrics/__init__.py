"""Metrics of a run: latency, throughput, repairs, windows, view changes. Measured from recordings, never guessed."""

from ringcast.pipeline.metrics.histogram import bucket_of
from ringcast.pipeline.metrics.measure import measured

__all__ = ["bucket_of", "measured"]
