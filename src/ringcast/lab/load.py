"""Load on a group for as long as something else goes on: paced, checked at the receivers, and not put off by faults.

A member that loses its place meanwhile sends on when it is back; how often that happened is told.
"""

from __future__ import annotations

import asyncio
import time
from typing import Any

from ringcast.errors import PlaceLost
from ringcast.lab.pattern import Pattern
from ringcast.runtime import Group


class Load:
    """Sends numbered messages until `stop` is called."""

    def __init__(self, group: Group, first: int, size: int, rate: float, chunk: int) -> None:
        self.sent = 0
        self.places_lost = 0
        self.longest_wait_ns = 0
        self._group = group
        self._first = first
        self._pattern = Pattern(group.me.name, size)
        self._rate = rate
        self._chunk = chunk
        self._stopped = False

    def stop(self) -> None:
        self._stopped = True

    async def run(self) -> dict[str, Any]:
        started = time.monotonic()
        while not self._stopped:
            await self._send_some()
            await asyncio.sleep(max(0.0, started + self.sent / self._rate - time.monotonic()))
        return {
            "sent": self.sent,
            "places_lost": self.places_lost,
            "seconds": time.monotonic() - started,
            "longest_wait_seconds": self.longest_wait_ns / 1e9,
        }

    async def _send_some(self) -> None:
        """A part of these may have been sent when the place is lost; the pattern goes on behind all of them."""
        began = time.monotonic_ns()
        payloads = self._pattern.run(self._first + self.sent, self._chunk)
        self.sent += len(payloads)
        try:
            await self._group.send_many(payloads)
        except PlaceLost:
            self.places_lost += 1
        self.longest_wait_ns = max(self.longest_wait_ns, time.monotonic_ns() - began)
