"""Rates between two looks at a member."""

from __future__ import annotations

from typing import Any


def rates_between(before: dict[str, Any], now: dict[str, Any], seconds: float) -> dict[str, float]:
    """Messages per second. A member that was let in anew in between counts from zero."""
    sent = now["windows"]["send"]["high"] - before["windows"]["send"]["high"]
    received = _ready(now) - _ready(before)
    return {"sent_per_second": max(0, sent) / seconds, "received_per_second": max(0, received) / seconds}


def _ready(status: dict[str, Any]) -> int:
    return sum(window["ready"] for window in status["windows"]["receive"].values())
