"""Bytes that wait for one stream socket: lengths and frames in turn, written many at a time.

Invariant: `held_bytes` is the sum of what the queue holds. Frames are shared with other queues, never copied; a frame
that was written in part stays as the view of its rest. Not a bound: whoever puts asks first.
"""

from __future__ import annotations

import socket
from collections import deque
from itertools import islice

_BUFFERS_PER_WRITE = 128


class WriteQueue:
    """What one peer has not been sent yet."""

    __slots__ = ("_buffers", "held_bytes")

    def __init__(self) -> None:
        self._buffers: deque[bytes | memoryview] = deque()
        self.held_bytes = 0

    @property
    def frames(self) -> int:
        """Frames not written to their end; the first may lack its length already."""
        return (len(self._buffers) + 1) // 2

    def put(self, buffers: list[bytes], size: int) -> None:
        self._buffers.extend(buffers)
        self.held_bytes += size

    def clear(self) -> None:
        self._buffers.clear()
        self.held_bytes = 0

    def write(self, sock: socket.socket) -> int:
        """Write until empty or until the socket is full; how many bytes went."""
        total = 0
        while self._buffers:
            batch = list(islice(self._buffers, _BUFFERS_PER_WRITE))
            try:
                sent = sock.sendmsg(batch)
            except BlockingIOError:
                break
            total += sent
            self.held_bytes -= sent
            if not self.held_bytes:  # the usual case: the socket took everything
                self._buffers.clear()
            elif not self._forget(sent, batch):
                break
        return total

    def _forget(self, sent: int, batch: list[bytes | memoryview]) -> bool:
        """Remove what was written; False if the socket took less than it was given."""
        for buffer in batch:
            if sent < len(buffer):
                self._buffers[0] = memoryview(buffer)[sent:]
                return False
            sent -= len(buffer)
            self._buffers.popleft()
        return True
