"""Steps that no signal handler can cut in two, and waits that it can end at any moment.

Python runs signal handlers in the main thread, between any two instructions there, and a handler may raise (Ctrl-C
does). A step that was cut in two would leave a lock held, or a message staged that never comes, and every reader would
wait for ever. So the main thread has its steps taken by another thread, in which no handler runs, and only waits for
the result: if that wait is interrupted, the step is taken all the same. Every other thread takes its own steps.
Invariant: the main thread never holds a lock of a bus.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class _Step(Generic[T]):
    def __init__(self, take: Callable[[], T]) -> None:
        self._take = take
        self._result: T
        self._error: BaseException | None = None
        self._done = threading.Lock()
        self._done.acquire()

    def take(self) -> None:
        try:
            self._result = self._take()
        except BaseException as error:
            self._error = error
        self._done.release()

    def wait(self) -> T:
        self._done.acquire()
        if self._error is not None:
            raise self._error
        return self._result


class _Taker:
    """The thread that takes the steps of the main thread, begun with the first of them."""

    def __init__(self) -> None:
        self._steps: SimpleQueue[_Step[Any]] = SimpleQueue()
        self._thread: threading.Thread | None = None

    def put(self, step: _Step[Any]) -> None:
        if self._thread is None or not self._thread.is_alive():
            thread = threading.Thread(target=_take_all, args=[self._steps], name="ringcast-bus", daemon=True)
            thread.start()  # If this is interrupted there may be two of them: each step is still taken once.
            self._thread = thread
        self._steps.put(step)


def _take_all(steps: SimpleQueue[_Step[Any]]) -> None:
    while True:
        steps.get().take()


_taker = _Taker()


def _begin_anew() -> None:
    """In a forked child the thread is gone, and the queue may be locked for ever."""
    global _taker
    _taker = _Taker()


os.register_at_fork(after_in_child=_begin_anew)


def whole(take: Callable[[], T]) -> T:
    """Take this step as a whole, whatever a signal handler does meanwhile. It must not wait for long."""
    if threading.get_ident() != threading.main_thread().ident:
        return take()
    step = _Step(take)
    _taker.put(step)
    return step.wait()


class Waiters:
    """Waiters for a change of one thing. They change only in whole steps, under the lock of that thing."""

    def __init__(self) -> None:
        self._waiting: list[threading.Lock] = []

    def add(self, waiter: threading.Lock) -> None:
        self._waiting.append(waiter)

    def drop(self, waiter: threading.Lock) -> None:
        if waiter in self._waiting:
            self._waiting.remove(waiter)

    def wake(self) -> None:
        waiting, self._waiting = self._waiting, []
        for waiter in waiting:
            waiter.release()


def until(
    look: Callable[[threading.Lock], T | None], forget: Callable[[threading.Lock], None], timeout: float | None
) -> T | None:
    """Wait until `look` gives something, and return it; None when the time is over.

    `look` adds the waiter where it will be woken, if there is nothing yet; `forget` takes it from there. A wait that is
    interrupted leaves its waiter to the next wake.
    """
    end = None if timeout is None else time.monotonic() + timeout
    while True:
        waiter = threading.Lock()
        waiter.acquire()
        found = whole(lambda: look(waiter))  # noqa: B023  taken before the next turn
        if found is not None:
            return found
        left = None if end is None else end - time.monotonic()
        if (left is not None and left <= 0) or not waiter.acquire(timeout=-1 if left is None else left):
            whole(lambda: forget(waiter))  # noqa: B023
            return None
