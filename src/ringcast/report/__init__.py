"""The report: one self-contained file about a run, for a browser, a phone or paper.

Fed by the pipeline (Spark, or its rules in this process) or, without any of its packages, by the checkers.
Names are loaded when they are first used: a task of the pipeline that only measures draws nothing.
"""

from typing import TYPE_CHECKING

from ringcast._lazy import loader

if TYPE_CHECKING:
    from ringcast.report.changes import CHANGE_KINDS, Changes, row_of
    from ringcast.report.checked import judged_by_checkers, look_into
    from ringcast.report.histogram import bucket, lower_bound, percentile
    from ringcast.report.html import render
    from ringcast.report.measuring import measured
    from ringcast.report.metrics import Metrics
    from ringcast.report.subject import About, Judged, Look, Place, Subject, gather

_HOMES = {
    "changes": ("CHANGE_KINDS", "Changes", "row_of"),
    "checked": ("judged_by_checkers", "look_into"),
    "histogram": ("bucket", "lower_bound", "percentile"),
    "html": ("render",),
    "measuring": ("measured",),
    "metrics": ("Metrics",),
    "subject": ("About", "Judged", "Look", "Place", "Subject", "gather"),
}

__all__ = [
    "CHANGE_KINDS",
    "About",
    "Changes",
    "Judged",
    "Look",
    "Metrics",
    "Place",
    "Subject",
    "bucket",
    "gather",
    "judged_by_checkers",
    "look_into",
    "lower_bound",
    "measured",
    "percentile",
    "render",
    "row_of",
]

__getattr__ = loader(__name__, _HOMES)
