"""Failure detection: who is dead, who is merely slow, and who looks after whom."""

from ringcast.core.failure.decisions import (
    Decision,
    Reason,
    Suspect,
    Unsuspect,
)
from ringcast.core.failure.detector import FailureDetector
from ringcast.core.failure.readmission import Readmission
from ringcast.core.failure.watching import watched, watchers

__all__ = [
    "Decision",
    "FailureDetector",
    "Readmission",
    "Reason",
    "Suspect",
    "Unsuspect",
    "watched",
    "watchers",
]
