"""Measurements behind `ringcast bench`: one file per question, real processes, everything checked.

Loaded when first used: the processes of a measurement start from here too, and need little of it.
"""

from typing import TYPE_CHECKING

from ringcast._lazy import loader

if TYPE_CHECKING:
    from ringcast.bench.bus import BusShape, run_bus
    from ringcast.bench.latency import LatencyShape, run_latency
    from ringcast.bench.multicast import FORMS, Shape, run_multicast
    from ringcast.bench.order import OrderShape, run_order
    from ringcast.bench.pipeline import run_pipeline
    from ringcast.bench.recorder import run_recorder

__all__ = [
    "FORMS",
    "BusShape",
    "LatencyShape",
    "OrderShape",
    "Shape",
    "run_bus",
    "run_latency",
    "run_multicast",
    "run_order",
    "run_pipeline",
    "run_recorder",
]

__getattr__ = loader(
    __name__,
    {
        "bus": ("BusShape", "run_bus"),
        "latency": ("LatencyShape", "run_latency"),
        "multicast": ("FORMS", "Shape", "run_multicast"),
        "order": ("OrderShape", "run_order"),
        "pipeline": ("run_pipeline",),
        "recorder": ("run_recorder",),
    },
)
