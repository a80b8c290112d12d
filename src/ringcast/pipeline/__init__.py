"""The data pipeline on Spark: recordings into tables, rules, metrics, report. The only room that imports pyspark.

Names are loaded when they are first used: asking why there is no Java must not need pyarrow.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ringcast.pipeline.history import PLANTED, Period, Planted, Shape, make_period, write_dataset, write_recordings
    from ringcast.pipeline.ingest import ingest_here, ingest_recordings
    from ringcast.pipeline.java import JavaNotFound, find_java_home
    from ringcast.pipeline.judge import judge_dataset, judge_recordings
    from ringcast.pipeline.many import judge_runs
    from ringcast.pipeline.metrics import Metrics, measure
    from ringcast.pipeline.reading import read
    from ringcast.pipeline.report import Subject, gather, render
    from ringcast.pipeline.report.writing import write_report
    from ringcast.pipeline.session import spark_session
    from ringcast.pipeline.shipping import pack, ship
    from ringcast.pipeline.sweep import run_seeds
    from ringcast.pipeline.tables import Dataset

_HOMES = {
    "history": ("PLANTED", "Period", "Planted", "Shape", "make_period", "write_dataset", "write_recordings"),
    "ingest": ("ingest_here", "ingest_recordings"),
    "java": ("JavaNotFound", "find_java_home"),
    "judge": ("judge_dataset", "judge_recordings"),
    "many": ("judge_runs",),
    "metrics": ("Metrics", "measure"),
    "report": ("Subject", "gather", "render"),
    "report.writing": ("write_report",),
    "reading": ("read",),
    "session": ("spark_session",),
    "shipping": ("pack", "ship"),
    "sweep": ("run_seeds",),
    "tables": ("Dataset",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "PLANTED",
    "Dataset",
    "JavaNotFound",
    "Metrics",
    "Period",
    "Planted",
    "Shape",
    "Subject",
    "find_java_home",
    "gather",
    "ingest_here",
    "ingest_recordings",
    "judge_dataset",
    "judge_recordings",
    "judge_runs",
    "make_period",
    "measure",
    "pack",
    "read",
    "render",
    "run_seeds",
    "ship",
    "spark_session",
    "write_dataset",
    "write_recordings",
    "write_report",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME_OF[name]}"), name)
