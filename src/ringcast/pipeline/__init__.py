"""The data pipeline on Spark: recordings judged, measured, as tables and a report. The only room that imports pyspark.

Names are loaded when they are first used: asking why there is no Java must not need pyarrow.
"""

from typing import TYPE_CHECKING

from ringcast._lazy import loader

if TYPE_CHECKING:
    from ringcast.pipeline.checking import Checked, Request, check, judge_local
    from ringcast.pipeline.java import JavaNotFound, find_java_home
    from ringcast.pipeline.judging import Application, rule_steps
    from ringcast.pipeline.reading import read, segment_files
    from ringcast.pipeline.reporting import judged_of, write_report
    from ringcast.pipeline.results import describe_tables
    from ringcast.pipeline.segment import decode
    from ringcast.pipeline.session import settings_of, spark_session
    from ringcast.pipeline.shipping import pack, ship
    from ringcast.pipeline.sweep import run_seeds

_HOMES = {
    "checking": ("Checked", "Request", "check", "judge_local"),
    "java": ("JavaNotFound", "find_java_home"),
    "judging": ("Application", "rule_steps"),
    "reporting": ("judged_of", "write_report"),
    "reading": ("read", "segment_files"),
    "results": ("describe_tables",),
    "segment": ("decode",),
    "session": ("settings_of", "spark_session"),
    "shipping": ("pack", "ship"),
    "sweep": ("run_seeds",),
}

__all__ = [
    "Application",
    "Checked",
    "JavaNotFound",
    "Request",
    "check",
    "decode",
    "describe_tables",
    "find_java_home",
    "judge_local",
    "judged_of",
    "pack",
    "read",
    "rule_steps",
    "run_seeds",
    "segment_files",
    "settings_of",
    "ship",
    "spark_session",
    "write_report",
]

__getattr__ = loader(__name__, _HOMES)
