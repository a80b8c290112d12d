"""Failure detection: who is dead, who is merely slow, and who looks after whom."""

from ringcast.core.failure.detector import FailureDetector
from ringcast.core.failure.health import Reason
from ringcast.core.failure.heartbeats import watched, watchers
from ringcast.core.failure.readmission import Readmission

__all__ = ["FailureDetector", "Readmission", "Reason", "watched", "watchers"]
