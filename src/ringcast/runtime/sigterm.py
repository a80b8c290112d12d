"""SIGTERM ends the block in which a group is held, so that the member leaves; then the process ends as if by it.

Only if nobody else has asked for that signal, and only in the main thread: elsewhere signals are not our business.
A second SIGTERM, while the member leaves, ends the leaving too.
"""

from __future__ import annotations

import asyncio
import signal


class SigtermLeaves:
    """For one task: listens between `listen` and `end`."""

    def __init__(self) -> None:
        self._task: asyncio.Task[object] | None = None
        self._came = False

    def listen(self) -> None:
        task = asyncio.current_task()
        if task is None or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
            return
        try:
            asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, self._on_signal)
        except (RuntimeError, ValueError):
            return  # not the main thread
        self._task = task

    def _on_signal(self) -> None:
        self._came = True
        assert self._task is not None
        self._task.cancel()

    def end(self) -> None:
        """Stop listening. If the signal came, end the process as it wants: quietly, with its number."""
        if self._task is None:
            return
        asyncio.get_running_loop().remove_signal_handler(signal.SIGTERM)
        self._task = None
        if self._came:
            raise SystemExit(128 + signal.SIGTERM)
