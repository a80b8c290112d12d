"""A shared directory: each member keeps a small file there, with a lease, so that stale entries do no harm.

A file is written whole and renamed into place; a reader sees all of it or nothing. An entry whose lease is over is
ignored, and removed once it is over for long. Clocks of the hosts may differ by less than a lease.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import stat
import time
from glob import escape
from pathlib import Path

import msgspec

from ringcast.errors import TransportError
from ringcast.transport import Endpoint

MAX_ENTRIES = 4_096
MAX_ENTRY_BYTES = 1_024


class _Entry(msgspec.Struct, frozen=True):
    endpoint: str
    until: float

    def address(self) -> Endpoint | None:
        try:
            return Endpoint.parse(self.endpoint)
        except TransportError:
            return None


class DirectoryDiscovery:
    """Announces by a file that is renewed at a third of its lease."""

    def __init__(self, path: str | Path, *, lease_seconds: float = 30.0) -> None:
        self._path = Path(path)
        self._lease = lease_seconds
        self._mine: Path | None = None
        self._me: Endpoint | None = None
        self._group = ""
        self._renewing: asyncio.Task[None] | None = None

    async def open(self, group: str, me: Endpoint) -> None:
        self._group, self._me = group, me
        try:
            self._path.mkdir(parents=True, exist_ok=True)
            self._mine = self._path / f"{group}.{str(me).replace('/', '_')}.json"
            self._renew()
        except OSError as error:
            raise TransportError(f"cannot announce in {self._path}: {error.strerror or error}") from None
        self._renewing = asyncio.create_task(self._keep_renewing())

    async def find(self) -> list[Endpoint]:
        return await asyncio.to_thread(self._find)

    def _find(self) -> list[Endpoint]:
        """In a thread: a directory on a network may take its time, and whatever lies in it."""
        now = time.time()
        found = []
        for path in sorted(self._path.glob(f"{escape(self._group)}.*.json"))[:MAX_ENTRIES]:
            entry = _read(path)
            if entry is None:
                continue
            if entry.until < now:
                _remove_if_old(path, entry, now - 10 * self._lease)
                continue
            endpoint = entry.address()
            if endpoint is not None and endpoint != self._me:
                found.append(endpoint)
        return found

    async def close(self) -> None:
        if self._renewing is not None:
            self._renewing.cancel()
        if self._mine is not None:
            self._mine.unlink(missing_ok=True)

    def _renew(self) -> None:
        assert self._mine is not None
        new = self._mine.with_suffix(f".{os.getpid()}.new")
        new.write_bytes(msgspec.json.encode(_Entry(str(self._me), time.time() + self._lease)))
        new.replace(self._mine)

    async def _keep_renewing(self) -> None:
        while True:
            await asyncio.sleep(self._lease / 3)
            try:
                self._renew()
            except OSError:
                continue  # A directory that is gone for a while: others forget us until it is back.


def _read(path: Path) -> _Entry | None:
    """Of a regular file only: to open a FIFO would wait for a writer, and a link may lead anywhere."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            return None
        return parse_entry(os.read(handle, MAX_ENTRY_BYTES))
    except OSError:
        return None
    finally:
        os.close(handle)


def parse_entry(data: bytes) -> _Entry | None:
    """What a file says, whoever wrote it; None if it is no entry."""
    try:
        return msgspec.json.decode(data, type=_Entry)
    except (msgspec.DecodeError, ValueError, RecursionError):  # also text that is not UTF-8, deep nesting
        return None


def _remove_if_old(path: Path, entry: _Entry, before: float) -> None:
    if entry.until < before:
        with contextlib.suppress(OSError):  # of another user: it is ignored where it lies
            path.unlink(missing_ok=True)
