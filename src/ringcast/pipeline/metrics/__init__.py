"""Metrics of a run: latency, throughput, repairs, windows, view changes. Measured from tables, never from guesses."""

from ringcast.pipeline.metrics.histogram import bucket_of, lower_bound, percentile
from ringcast.pipeline.metrics.measure import Metrics, measure, measure_here

__all__ = ["Metrics", "bucket_of", "lower_bound", "measure", "measure_here", "percentile"]
