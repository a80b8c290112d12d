"""The one thread of a process that beats for all its groups, each at its own interval.

It lives from the first group that begins until the last one ends; a child of a fork has none.
Invariants: a group is beaten for by this thread alone, one at a time; when `end` returns, the thread is done with it,
and if it was the last one the thread has ended.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from heapq import heapify, heappop, heappush
from itertools import count
from typing import Protocol

_log = logging.getLogger("ringcast")


class Beating(Protocol):
    interval: float

    @property
    def is_over(self) -> bool: ...

    def beat(self) -> None: ...


class BeatThread:
    """The thread, and when it beats for whom next."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._due: list[tuple[float, int, Beating]] = []
        self._numbers = count()
        self._now: Beating | None = None  # whom it beats for at this moment
        self._thread = threading.Thread(target=self._run, name="ringcast heartbeats", daemon=True)
        self._thread.start()

    def put(self, one: Beating) -> None:
        """Beat for it at once, and then at its interval."""
        with self._changed:
            self._forget(one)
            heappush(self._due, (time.monotonic(), next(self._numbers), one))
            self._changed.notify_all()

    def take_out(self, one: Beating) -> bool:
        """When this returns, it is not beaten for any more. Was it the last one?"""
        with self._changed:
            self._forget(one)
            while self._now is one:
                self._changed.wait()
            self._forget(one)
            self._changed.notify_all()
            return not self._due and self._now is None

    def join(self) -> None:
        self._thread.join()

    def _forget(self, one: Beating) -> None:
        self._due = [entry for entry in self._due if entry[2] is not one]
        heapify(self._due)

    def _run(self) -> None:
        while (one := self._next()) is not None:
            try:
                if not one.is_over:
                    one.beat()
            except Exception:  # a mistake of ours: the other groups need their heartbeats
                _log.exception("a heartbeat could not be sent")
            with self._changed:
                self._now = None
                if not one.is_over and not any(entry[2] is one for entry in self._due):
                    heappush(self._due, (time.monotonic() + one.interval, next(self._numbers), one))
                self._changed.notify_all()

    def _next(self) -> Beating | None:
        """Wait for whoever is next; None if there is nobody any more."""
        global _here
        while True:
            with self._changed:
                while self._due:
                    wait = self._due[0][0] - time.monotonic()
                    if wait <= 0:
                        self._now = heappop(self._due)[2]
                        return self._now
                    self._changed.wait(min(wait, threading.TIMEOUT_MAX))
            with _lock, self._changed:  # Nobody can begin meanwhile.
                if not self._due:
                    if _here is self:
                        _here = None
                    return None


_lock = threading.Lock()
_here: BeatThread | None = None


def begin(one: Beating) -> None:
    """Beat for this one at once, and on at its interval."""
    global _here
    with _lock:
        if _here is None:
            _here = BeatThread()
        _here.put(one)


def end(one: Beating) -> None:
    """No more for this one."""
    global _here
    with _lock:
        thread = _here
        if thread is None or not thread.take_out(one):
            return
        _here = None  # Whoever begins now gets another thread.
    thread.join()


def _in_child() -> None:
    global _here, _lock
    _here, _lock = None, threading.Lock()


os.register_at_fork(after_in_child=_in_child)
