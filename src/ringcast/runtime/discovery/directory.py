"""A shared directory: each member keeps a small file there, with a lease, so that stale entries do no harm.

A file is written whole and renamed into place; a reader sees all of it or nothing. An entry whose lease is over is
ignored, and removed once it is over for long. Clocks of the hosts may differ by less than a lease.
Others may write to the directory: a file of ours is made under a random name that nobody can prepare (no link is
followed, nothing that is there is opened), then renamed. All of it is done by a thread of its own, which is waited for
`LIMIT_SECONDS` at most: a file system that stands still (a server of it that is gone) stops no event loop.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import queue
import secrets
import stat
import threading
import time
from collections.abc import Callable
from fnmatch import fnmatchcase
from glob import escape
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from ringcast.errors import TransportError
from ringcast.runtime.discovery.protocol import NoAnswerYet
from ringcast.transport import Endpoint

T = TypeVar("T")

MAX_ENTRIES = 4_096
MAX_NAMES = 65_536  # looked at in one directory, whatever they are of
LIMIT_SECONDS = 5.0
MAX_ENTRY_BYTES = 1_024


class _Entry(msgspec.Struct, frozen=True):
    endpoint: str
    until: float

    def address(self) -> Endpoint | None:
        try:
            return Endpoint.parse(self.endpoint)
        except TransportError:
            return None


class _Worker:
    """A thread that does what it is asked, one thing after the other. Nobody waits longer than a limit for it."""

    def __init__(self) -> None:
        self._jobs: queue.SimpleQueue[tuple[asyncio.Future[Any], Callable[[], Any]] | None] = queue.SimpleQueue()
        self._is_begun = False

    async def do(self, job: Callable[[], T]) -> T:
        """TimeoutError if it takes longer than the limit; then it is not begun any more, or its answer is dropped."""
        if not self._is_begun:
            self._is_begun = True
            # A daemon: a call into a file system that stands still never returns, and the process has to end.
            threading.Thread(target=self._run, name="ringcast-directory", daemon=True).start()
        answer: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._jobs.put((answer, job))
        async with asyncio.timeout(LIMIT_SECONDS):
            return await answer

    def end(self) -> None:
        self._jobs.put(None)

    def _run(self) -> None:
        while (asked := self._jobs.get()) is not None:
            answer, job = asked
            if answer.cancelled():
                continue
            result, error = None, None
            try:
                result = job()
            except Exception as raised:
                error = raised
            with contextlib.suppress(RuntimeError):  # the loop has ended
                answer.get_loop().call_soon_threadsafe(_answer, answer, result, error)


def _answer(answer: asyncio.Future[Any], result: object, error: Exception | None) -> None:
    if answer.done():
        return
    if error is None:
        answer.set_result(result)
    else:
        answer.set_exception(error)


class DirectoryDiscovery:
    """Announces by a file that is renewed at a third of its lease."""

    def __init__(self, path: str | Path, *, lease_seconds: float = 30.0) -> None:
        self._path = Path(path)
        self._lease = lease_seconds
        self._mine: Path | None = None
        self._me: Endpoint | None = None
        self._group = ""
        self._renewing: asyncio.Task[None] | None = None
        self._worker = _Worker()

    async def open(self, group: str, me: Endpoint) -> None:
        self._group, self._me = group, me
        self._mine = self._path / f"{group}.{str(me).replace('/', '_')}.json"
        try:
            await self._worker.do(self._announce)
        except TimeoutError:
            raise TransportError(f"cannot announce in {self._path}: it does not answer") from None
        except OSError as error:
            raise TransportError(f"cannot announce in {self._path}: {error.strerror or error}") from None
        self._renewing = asyncio.create_task(self._keep_renewing())

    async def find(self) -> list[Endpoint]:
        try:
            return await self._worker.do(self._find)
        except TimeoutError:
            raise NoAnswerYet(f"{self._path} does not answer") from None

    def _find(self) -> list[Endpoint]:
        now = time.time()
        found = []
        for path in self._entries():
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

    def _entries(self) -> list[Path]:
        """Files that are named as entries of this group, not more than a bound of all that lies there."""
        form = f"{escape(self._group)}.*.json"
        try:
            with os.scandir(self._path) as names:
                named = [one.name for one in islice(names, MAX_NAMES) if fnmatchcase(one.name, form)]
        except OSError:
            return []
        return [self._path / name for name in sorted(named)[:MAX_ENTRIES]]

    async def close(self) -> None:
        if self._renewing is not None:
            self._renewing.cancel()
        if self._mine is not None:
            with contextlib.suppress(OSError, TimeoutError):
                await self._worker.do(lambda mine=self._mine: mine.unlink(missing_ok=True))  # type: ignore[misc]
            self._worker.end()

    def _announce(self) -> None:
        self._path.mkdir(parents=True, exist_ok=True)
        self._renew()

    def _renew(self) -> None:
        assert self._mine is not None
        new = self._path / f".{self._group}.{secrets.token_hex(8)}.new"
        _write_new(new, msgspec.json.encode(_Entry(str(self._me), time.time() + self._lease)))
        try:
            new.replace(self._mine)
        except OSError:
            new.unlink(missing_ok=True)
            raise

    async def _keep_renewing(self) -> None:
        while True:
            await asyncio.sleep(self._lease / 3)
            try:
                await self._worker.do(self._renew)
            except (OSError, TimeoutError):
                continue  # A directory that is gone for a while: others forget us until it is back.


def _write_new(path: Path, data: bytes) -> None:
    """A file of ours; FileExistsError if anything is there, a link included."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with open(os.open(path, flags, 0o644), "wb") as file:
        file.write(data)


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
