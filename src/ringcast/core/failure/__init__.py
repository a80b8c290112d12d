"""Failure detection: who is dead, who is merely slow, and who looks after whom."""

from ringcast.core.failure.decisions import (
    AskIfAlive,
    AssureAlive,
    Decision,
    HeartbeatTo,
    Reason,
    SlowPeer,
    Suspect,
    Unsuspect,
)
from ringcast.core.failure.detector import FailureDetector
from ringcast.core.failure.watching import watched, watchers

__all__ = [
    "AskIfAlive",
    "AssureAlive",
    "Decision",
    "FailureDetector",
    "HeartbeatTo",
    "Reason",
    "SlowPeer",
    "Suspect",
    "Unsuspect",
    "watched",
    "watchers",
]
