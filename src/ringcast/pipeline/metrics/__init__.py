"""Metrics of a run: latency, throughput, repairs, windows, view changes. Measured from recordings, never guessed."""

from ringcast.pipeline.metrics.changes import Changes
from ringcast.pipeline.metrics.histogram import bucket_of, lower_bound, percentile
from ringcast.pipeline.metrics.measure import Metrics, measured

__all__ = ["Changes", "Metrics", "bucket_of", "lower_bound", "measured", "percentile"]
