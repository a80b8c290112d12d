"""What a member knows of primary views, in a small file of its own, so that it outlives the process (G17).

Written before the member goes on to a primary view: into a new file, synced, renamed over the old one. Owner only. A
file that is damaged, of another group or another member, open to others or in use is refused in a sentence: a vote may
be cast by one process only, and never from a guess. Not a log: one mark, the latest.
"""

from __future__ import annotations

import asyncio
import fcntl
import hashlib
import os
import stat
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Protocol

import msgspec

from ringcast.errors import ConfigError, RingcastError, TransportError
from ringcast.model import Address, Mark
from ringcast.runtime.durable import replace_file

FORMAT = "ringcast primary mark 1"
MAX_BYTES = 4 << 20

Done = Callable[[RingcastError | None], None]


class MarkStore(Protocol):
    """Where one member's mark is kept."""

    @property
    def path(self) -> Path: ...

    @property
    def known(self) -> tuple[Address, Mark] | None:
        """Who kept a mark here last, and which."""

    def keep(self, me: Address, mark: Mark, done: Done) -> None:
        """Store it, in the order of calls; then call `done` on the loop, with an error if that failed."""

    async def close(self) -> None: ...

    def release(self) -> None:
        """Close without waiting: what was begun is written, and then the file is free."""


@dataclass(frozen=True, slots=True)
class _Record:
    format: str
    group: str
    name: str
    me: Address
    mark: Mark
    digest: str = ""

    def sum(self) -> str:
        whole = msgspec.json.encode([self.format, self.group, self.name, self.me, self.mark])
        return hashlib.sha256(whole).hexdigest()


class MarkFile:
    def __init__(self, path: Path, group: str, name: str) -> None:
        self._path = path
        self._group = group
        self._name = name
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="ringcast-mark")
        self._lock = self._locked()
        try:
            self._known = self._read()
        except BaseException:
            self._close()
            raise

    @property
    def path(self) -> Path:
        return self._path

    @property
    def known(self) -> tuple[Address, Mark] | None:
        return self._known

    def _refused(self, why: str) -> ConfigError:
        return ConfigError(f"primary_mark {self.path} {why}")

    # ---- opening

    def _locked(self) -> int:
        """Beside the file, for that is replaced with every mark."""
        try:
            lock = os.open(f"{self.path}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise self._refused(f"cannot be used: {error.strerror}") from None
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(lock)
            raise self._refused("is in use by another process: each member needs a file of its own") from None
        return lock

    def _read(self) -> tuple[Address, Mark] | None:
        try:
            with self.path.open("rb") as file:
                status = os.fstat(file.fileno())
                self._check_owner(status)
                content = file.read(MAX_BYTES + 1)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise self._refused(f"cannot be read: {error.strerror}") from None
        record = self._decoded(content)
        if record.group != self._group:
            raise self._refused(f"is the mark of group {record.group!r}, not of {self._group!r}")
        if record.name != self._name:
            raise self._refused(f"is the mark of member {record.name!r}, not of {self._name!r}")
        return record.me, record.mark

    def _check_owner(self, status: os.stat_result) -> None:
        if not stat.S_ISREG(status.st_mode):
            raise self._refused("is not a plain file")
        if status.st_uid != os.geteuid() or status.st_mode & 0o077:
            raise self._refused("must belong to this user and be closed to others (mode 600)")

    def _decoded(self, content: bytes) -> _Record:
        try:
            record = msgspec.json.decode(content, type=_Record) if len(content) <= MAX_BYTES else None
        except (msgspec.DecodeError, ValueError, RecursionError):
            record = None
        if record is None or record.format != FORMAT:
            raise self._refused("is damaged or not a mark file; it is not used, for a vote must not be guessed")
        if record.digest != record.sum():
            raise self._refused("is damaged: its checksum is wrong; it is not used, for a vote must not be guessed")
        return record

    # ---- writing

    def keep(self, me: Address, mark: Mark, done: Done) -> None:
        loop = asyncio.get_running_loop()
        writing = self._writer.submit(self._write, me, mark)
        writing.add_done_callback(partial(self._on_written, loop, done))

    def _on_written(self, loop: asyncio.AbstractEventLoop, done: Done, writing: Future[None]) -> None:
        """In the writer's thread."""
        error = None if writing.cancelled() else writing.exception()
        failed = None if error is None else TransportError(f"primary_mark {self.path} cannot be written: {error}")
        with suppress(RuntimeError):  # The loop ended first.
            loop.call_soon_threadsafe(done, failed)

    def _write(self, me: Address, mark: Mark) -> None:
        record = _Record(FORMAT, self._group, self._name, me, mark)
        replace_file(self.path, msgspec.json.encode(replace(record, digest=record.sum())))

    async def close(self) -> None:
        """What was begun is written; then another process may have the file."""
        await asyncio.to_thread(self._close)

    def release(self) -> None:
        self._writer.submit(os.close, self._lock)
        self._writer.shutdown(wait=False)

    def _close(self) -> None:
        self._writer.shutdown(wait=True)
        os.close(self._lock)
