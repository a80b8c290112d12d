"""How an event loop waits for a bus: futures that a ring or a slow timer completes.

Invariants: a wait ends at the latest after WATCH_S, because the death of a peer rings no bell; a ring that comes before
the wait is not lost, since the FIFO stays readable until it is drained.
"""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress
from typing import Final

WATCH_S: Final = 0.05


class Doorbell:
    """The waiting tasks of one peer, all in one event loop at a time."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._waiting: list[asyncio.Future[None]] = []
        self._timer: asyncio.TimerHandle | None = None

    async def wait(self) -> None:
        """Until the bell rings or it is time to look after the others."""
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            self._move_to(loop)
        future: asyncio.Future[None] = loop.create_future()
        self._waiting.append(future)
        if self._timer is None:
            self._timer = loop.call_later(WATCH_S, self._timer_fired)
        await future

    def wake(self) -> None:
        """In the loop's own thread: let everybody look again."""
        waiting, self._waiting = self._waiting, []
        for future in waiting:
            if not future.done():
                future.set_result(None)

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop = None

    def _move_to(self, loop: asyncio.AbstractEventLoop) -> None:
        Doorbell.close(self)
        self._waiting = []
        self._loop = loop

    def _timer_fired(self) -> None:
        self._timer = None
        self.wake()


class ThreadDoorbell(Doorbell):
    """Rung by other threads of this process."""

    def __init__(self) -> None:
        super().__init__()
        self._armed: asyncio.AbstractEventLoop | None = None

    def arm(self) -> None:
        """From here on a ring wakes this loop, once; the caller looks again before it waits."""
        self._armed = asyncio.get_running_loop()

    def ring(self) -> None:
        loop, self._armed = self._armed, None
        if loop is not None:
            with suppress(RuntimeError):  # The loop closed meanwhile: nobody waits there any more.
                loop.call_soon_threadsafe(self.wake)


class FifoDoorbell(Doorbell):
    """Rung by other processes, through a FIFO beside the bus file."""

    def __init__(self, path: str) -> None:
        super().__init__()
        self._path = path
        with suppress(FileNotFoundError):  # A former owner of the slot left its own.
            os.unlink(path)
        os.mkfifo(path, 0o600)
        # Read and write: the FIFO never reports the end of file when the last ringer goes.
        self._fd: int | None = os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)

    def end(self) -> None:
        """From any thread: let everybody look again, and close. The path is free when this returns."""
        with suppress(FileNotFoundError):
            os.unlink(self._path)
        loop = self._loop
        if loop is not None and loop.is_running() and loop is not running_loop():
            with suppress(RuntimeError):  # The loop closed meanwhile: then nobody else uses what we close.
                loop.call_soon_threadsafe(self._end_here)
                return
        self._end_here()

    def close(self) -> None:
        self._stop_listening()
        super().close()
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def _end_here(self) -> None:
        self.wake()
        self.close()

    def abandon(self) -> None:
        """In the child of a fork: the FIFO is the parent's."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def _move_to(self, loop: asyncio.AbstractEventLoop) -> None:
        self._stop_listening()
        super()._move_to(loop)
        assert self._fd is not None
        loop.add_reader(self._fd, self._drain)

    def _stop_listening(self) -> None:
        if self._loop is not None and self._fd is not None and not self._loop.is_closed():
            self._loop.remove_reader(self._fd)

    def _drain(self) -> None:
        assert self._fd is not None
        with suppress(BlockingIOError):
            os.read(self._fd, 4096)
        self.wake()


def running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
