"""Measurements behind `ringcast bench`: one file per question, real processes, everything checked."""

from ringcast.bench.bus import BusShape, run_bus
from ringcast.bench.latency import run_latency
from ringcast.bench.multicast import Shape, run_multicast
from ringcast.bench.order import OrderShape, run_order
from ringcast.bench.pipeline import run_pipeline
from ringcast.bench.recorder import run_recorder

__all__ = [
    "BusShape",
    "OrderShape",
    "Shape",
    "run_bus",
    "run_latency",
    "run_multicast",
    "run_order",
    "run_pipeline",
    "run_recorder",
]
