"""Locks on single bytes of a bus file, held by an open file and dropped by the kernel whatever ends its process.

Open-file-description locks rather than flock(2): one file carries one lock per slot, two peers in one process exclude
each other, and nothing is left to clean up. The native part asks about the same bytes.
"""

from __future__ import annotations

import fcntl
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from ringcast.bus.errors import BusUnusable

ATTACH_BYTE: Final = 0
USE_BYTE: Final = 1
PATIENCE_S: Final = 10.0

_FLOCK = struct.Struct("=hhxxxxqqixxxx")


def try_lock(fd: int, byte: int, kind: int = fcntl.F_WRLCK) -> bool:
    """Take, change or (F_UNLCK) drop a lock; false if another open file holds it."""
    try:
        fcntl.fcntl(fd, fcntl.F_OFD_SETLK, _FLOCK.pack(kind, 0, byte, 1, 0))
    except (BlockingIOError, PermissionError):
        return False
    return True


@contextmanager
def attach_lock(fd: int, bus: str) -> Iterator[None]:
    """One process at a time opens, attaches or closes. Polled, because a stopped holder must not hang us for ever."""
    give_up = time.monotonic() + PATIENCE_S
    while not try_lock(fd, ATTACH_BYTE):
        if time.monotonic() > give_up:
            raise BusUnusable(f"bus {bus!r}: another process has been attaching for {PATIENCE_S:.0f} s; is it stopped?")
        time.sleep(0.001)
    try:
        yield
    finally:
        try_lock(fd, ATTACH_BYTE, fcntl.F_UNLCK)
