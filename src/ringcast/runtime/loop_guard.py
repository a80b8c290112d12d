"""Whose event loop a group belongs to: calls from another loop or thread are refused in words.

Nothing of a group is locked: what a foreign thread changed there would be seen late, or never, by the loop that sleeps.
"""

from __future__ import annotations

import asyncio
import threading
from asyncio import AbstractEventLoop
from threading import get_ident
from typing import NoReturn

from ringcast.errors import UsageError
from ringcast.runtime.forks import ends_with_fork


class LoopGuard:
    """Remembers the loop and the thread in which it was made.

    A thread runs one loop at a time: in that thread, while that loop runs, the caller is on it. Asking for the running
    loop instead would cost a system call for each send (it looks for forks).
    """

    def __init__(self, what: str) -> None:
        self.loop = asyncio.get_running_loop()
        self.thread_id = get_ident()
        self._thread = threading.current_thread().name
        self._what = what
        self.is_forked = False
        ends_with_fork(self)

    def on_forked(self) -> None:
        """In the child no thread is the loop's."""
        self.is_forked = True
        self.thread_id = -1

    def check(self) -> None:
        """UsageError unless this runs on the loop."""
        if get_ident() != self.thread_id or not self.loop.is_running():
            self.refuse()

    def refuse(self) -> NoReturn:
        if self.is_forked:
            raise UsageError(f"{self._what} belongs to the parent of this process, which forked after it had joined")
        here = asyncio._get_running_loop()
        called = "without an event loop" if here is None else f"on {_name(here)}"
        raise UsageError(
            f"{self._what} lives on {_name(self.loop)} of thread {self._thread!r} and was called {called} of thread "
            f"{threading.current_thread().name!r}: use ringcast.sync, or asyncio.run_coroutine_threadsafe"
        )


def _name(loop: AbstractEventLoop) -> str:
    return f"event loop {id(loop):#x}"
