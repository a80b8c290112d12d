"""Metrics of a run: latency, throughput, repairs, windows, view changes. Measured from recordings, never guessed."""

from ringcast.pipeline.metrics.measure import bucket_of, measured

__all__ = ["bucket_of", "measured"]
