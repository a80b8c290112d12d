"""Who reads from a group, and whether somebody waits for its own reading (Y07).

An application that answers from inside its reading loop sends while it does not read. Its own messages wait to be read
behind those that it still has to answer, so the bound on them would stop it for ever. When the only reader waits to
send, it stands before all others who wait (what they wait for may be its reading), and the node lets it go on up to a
wider bound; beyond that, the wait ends at once with an error.
"The only reader" is a task (of `ringcast.sync`: a thread) that read last, while no other that read here still lives.
It is asked one turn of the loop after the wait began (a reader that was just started has begun by then), and again as
long as the wait lasts: others may take what had been left for it.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextvars import ContextVar

from ringcast.errors import UsageError
from ringcast.runtime.lines import Need

Caller = asyncio.Task[object] | threading.Thread

CALLING_THREAD: ContextVar[threading.Thread | None] = ContextVar("CALLING_THREAD", default=None)
AGAIN_SECONDS = 0.05  # between two looks at a reader that waits
MOST_READERS = 64  # remembered; one that is forgotten counts as gone

ADVICE = "it is this task itself that has to read on; read in one task and send in another, or use self_delivery=False"


class Readers:
    def __init__(self) -> None:
        self._last: Caller | None = None
        self._others: list[Caller] = []

    def note(self, loop: asyncio.AbstractEventLoop) -> None:
        """The caller, on this loop, reads."""
        if (who := caller(loop)) is not self._last:
            former = [*self._others, self._last]
            self._others = [one for one in former if one is not None and one is not who and not is_gone(one)]
            del self._others[:-MOST_READERS]
            self._last = who

    def is_only(self, who: Caller | None) -> bool:
        return who is not None and who is self._last and all(map(is_gone, self._others))

    def watch(self, need: Need, free: Callable[[], None], is_stuck: Callable[[Need], bool]) -> None:
        """Somebody begins to wait: if it is the only reader, `free` what may be freed for it, or end what is stuck."""
        who = caller()
        if not need.is_watched and self.is_only(who):
            need.is_watched = True
            asyncio.get_running_loop().call_soon(self._check, who, need, free, is_stuck)

    def goes_first(self) -> bool:
        """The caller is the only reader: those who wait to send may all wait for it."""
        return self.is_only(caller())

    def help(self, free: Callable[[], None]) -> None:
        """Somebody begins to wait for what was accepted already: if it is the only reader, `free` what may be freed."""
        who = caller()
        if self.is_only(who):
            asyncio.get_running_loop().call_soon(lambda: free() if self.is_only(who) else None)

    def _check(
        self, who: Caller | None, need: Need, free: Callable[[], None], is_stuck: Callable[[Need], bool]
    ) -> None:
        if need.is_over or not self.is_only(who):
            need.is_watched = False
            return
        free()
        if need.is_waiting and is_stuck(need):
            need.expelled = UsageError(f"this send waits until own messages are read, and {ADVICE}; nothing was sent")
            need.wake()
        else:
            asyncio.get_running_loop().call_later(AGAIN_SECONDS, self._check, who, need, free, is_stuck)


def caller(loop: asyncio.AbstractEventLoop | None = None) -> Caller | None:
    return CALLING_THREAD.get() or asyncio.current_task(loop)


def is_gone(one: Caller) -> bool:
    return not one.is_alive() if isinstance(one, threading.Thread) else one.done()
