"""Failure detection: who is dead, who is merely slow, and who looks after whom."""

from ringcast.core.failure.decisions import (
    AskIfAlive,
    AskOthers,
    AssureAlive,
    Complain,
    Decision,
    HeartbeatTo,
    Reason,
    Suspect,
    Unsuspect,
    Vouch,
)
from ringcast.core.failure.detector import FailureDetector
from ringcast.core.failure.readmission import Readmission
from ringcast.core.failure.watching import watched, watchers

__all__ = [
    "AskIfAlive",
    "AskOthers",
    "AssureAlive",
    "Complain",
    "Decision",
    "FailureDetector",
    "HeartbeatTo",
    "Readmission",
    "Reason",
    "Suspect",
    "Unsuspect",
    "Vouch",
    "watched",
    "watchers",
]
