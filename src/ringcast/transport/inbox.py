"""Frames that came and wait for the next turn of the loop.

Invariants: it never holds more than its bound (one frame always fits an empty one); a receiver gets all that it holds
in one call, in a later turn of the loop, never inside the sender's call.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from ringcast.transport.counters import Counters
from ringcast.transport.protocol import OnFrames


class Inbox:
    """`after` is called when the receiver has got what was here."""

    def __init__(self, bytes_max: int, counters: Counters, after: Callable[[], None]) -> None:
        self._bytes_max, self._counters, self._after = bytes_max, counters, after
        self._frames: list[bytes] = []
        self._held_bytes = 0

    def open(self, on_frames: OnFrames) -> None:
        """On the loop whose turns count."""
        self._loop, self._on_frames = asyncio.get_running_loop(), on_frames

    def has_room(self, frame: bytes) -> bool:
        return not self._frames or self._held_bytes + len(frame) <= self._bytes_max

    def put(self, frame: bytes) -> None:
        if not self._frames:
            self._loop.call_soon(self._empty)
        self._frames.append(frame)
        self._held_bytes += len(frame)

    def clear(self) -> None:
        self._frames, self._held_bytes = [], 0

    def _empty(self) -> None:
        frames, held = self._frames, self._held_bytes
        if not frames:  # cleared in between
            return
        self.clear()
        self._counters.wakes += 1
        self._counters.frames_in += len(frames)
        self._counters.bytes_in += held
        self._on_frames(frames)
        self._after()
