"""Asking a running member what it does: a Unix socket of the same user, one JSON line in, one JSON line out.

Whoever asks to watch gets a line a few times a second until it hangs up; at most `MOST_WATCHERS` at once.
The socket lies in a directory that belongs to this user and that nobody else can enter; both sides look at that before
they use it, and each answers or asks a process of this user (or of root) only. Its name says group and endpoint. It
never changes the member: questions only. A socket left behind by a killed process is found dead by whoever asks, and
removed.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import stat
import struct
import tempfile
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import AbstractContextManager
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import msgspec

from ringcast.errors import TransportError, UsageError
from ringcast.transport import Acceptor

MAX_LINE = 64 * 1024
MAX_WATCH_LINE = 16 * 1024 * 1024
LIMIT_SECONDS = 5.0
WATCH_SECONDS = 0.5  # between two lines of a watch
MOST_WATCHERS = 8
_BACKLOG = 100

Watching = Callable[[], AbstractContextManager[Callable[[], dict[str, Any]]]]
"""Begin to watch: gives a function for what happened since its last call, and ends with the block."""


def socket_directory() -> Path:
    """Where members of this user can be asked: RINGCAST_SOCKETS, the user's runtime directory, or one among the
    temporary files."""
    chosen = os.environ.get("RINGCAST_SOCKETS")
    if chosen:
        return Path(chosen)
    runtime = Path(os.environ.get("XDG_RUNTIME_DIR") or f"/run/user/{os.getuid()}")
    if is_private(runtime):
        return runtime / "ringcast"
    return Path(tempfile.gettempdir()) / f"ringcast-{os.getuid()}"


def is_private(directory: Path) -> bool:
    """A directory, not a link to one, of this user, that nobody else can enter."""
    try:
        found = directory.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o077


def socket_path(group: str, endpoint: str) -> Path:
    return socket_directory() / f"{group}@{endpoint}.sock"


class Inspection:
    """The answering side, inside a member."""

    def __init__(self, path: Path, answers: dict[str, Callable[[], dict[str, Any]]], watching: Watching) -> None:
        self._path = path
        self._answers = answers
        self._watching = watching
        self._watchers: dict[asyncio.Task[Any], None] = {}
        self._acceptor: Acceptor | None = None
        self._beginning: dict[asyncio.Task[Any], None] = {}

    async def open(self) -> None:
        directory = self._path.parent
        try:
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not is_private(directory):
                raise TransportError(
                    f"{directory} belongs to somebody else, or others can enter it; set RINGCAST_SOCKETS to a "
                    "directory of yours with mode 700"
                )
            self._path.unlink(missing_ok=True)
            sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
            try:
                sock.bind(str(self._path))
                sock.listen(_BACKLOG)
            except OSError:
                sock.close()
                raise
            self._acceptor = Acceptor(sock, asyncio.get_running_loop(), None, self._begin)
        except OSError as error:
            raise TransportError(f"cannot answer questions at {self._path}: {error.strerror or error}") from None

    async def close(self) -> None:
        if self._acceptor is not None:
            self._acceptor.close()
            self._acceptor = None
            self._path.unlink(missing_ok=True)
            for task in list(self._watchers):
                task.cancel()

    def _begin(self, sock: socket.socket, _: str) -> None:
        """Serve one connection."""
        loop = asyncio.get_running_loop()

        def protocol() -> asyncio.StreamReaderProtocol:
            return asyncio.StreamReaderProtocol(asyncio.StreamReader(MAX_LINE, loop), self._serve, loop)

        beginning = loop.create_task(loop.connect_accepted_socket(protocol, sock))
        self._beginning[beginning] = None
        beginning.add_done_callback(lambda done: self._beginning.pop(done, None))

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if not _is_of_this_user(writer.get_extra_info("socket")):
            writer.close()
            return
        with contextlib.suppress(OSError, ValueError, asyncio.LimitOverrunError):
            async with asyncio.timeout(LIMIT_SECONDS):
                question = _question(await reader.readline())
                if question != "watch":
                    writer.write(self._answer(question) + b"\n")
                    await writer.drain()
            if question == "watch":
                await self._be_watched(reader, writer)
        writer.close()

    def _answer(self, question: str | None) -> bytes:
        answer = self._answers.get(question or "")
        if answer is None:
            return msgspec.json.encode({"error": f"ask one of {', '.join(self._answers)}, watch"})
        return msgspec.json.encode(answer())

    async def _be_watched(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """A line now and then, until the watcher hangs up or does not read for too long."""
        if len(self._watchers) >= MOST_WATCHERS:
            writer.write(msgspec.json.encode({"error": f"{MOST_WATCHERS} watch this member already"}) + b"\n")
            return
        task = asyncio.current_task()
        assert task is not None
        self._watchers[task] = None
        try:
            with self._watching() as look:
                while not reader.at_eof() and not writer.is_closing():
                    writer.write(msgspec.json.encode(look()) + b"\n")
                    async with asyncio.timeout(LIMIT_SECONDS):
                        await writer.drain()
                    with contextlib.suppress(TimeoutError):
                        async with asyncio.timeout(WATCH_SECONDS):
                            if not await reader.read(MAX_LINE):
                                return
        except (asyncio.CancelledError, TimeoutError):
            return  # The group ends, or the watcher stands still.
        finally:
            self._watchers.pop(task, None)


_CREDENTIALS = struct.Struct("3i")  # process, user and group of the other end


def _is_of_this_user(line: socket.socket) -> bool:
    """Is the other end a process of this user, or of root?"""
    return _credentials(line)[1] in (os.getuid(), 0)


def _credentials(line: socket.socket) -> tuple[int, int, int]:
    data = line.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    process, user, group = _CREDENTIALS.unpack(data)
    return process, user, group


def _question(line: bytes) -> str | None:
    try:
        question = msgspec.json.decode(line, type=dict[str, Any]).get("ask")
    except (msgspec.DecodeError, ValueError, RecursionError):
        return None
    return question if isinstance(question, str) else None


def find_members(known: Collection[str] = ()) -> dict[str, Path]:
    """Members of this user that can be asked on this machine: `group@endpoint` -> socket. Dead ones are removed.

    Those that are `known` are not asked whether they live, and not given.
    """
    found = {}
    if not is_private(socket_directory()):
        return {}
    for path in sorted(socket_directory().glob("*.sock")):
        if path.stem in known:
            continue
        if _has_owner(path):
            found[path.stem] = path
        else:
            path.unlink(missing_ok=True)
    return found


def _has_owner(path: Path) -> bool:
    """Only the kernel's refusal says that the process is gone: one that is stopped may have no room for a question."""
    with socket.socket(socket.AF_UNIX) as probe:
        probe.setblocking(False)
        try:
            probe.connect(str(path))
        except (ConnectionRefusedError, FileNotFoundError):
            return False
        except OSError:
            pass
        return True


def ask(address: str, question: str) -> dict[str, Any]:
    """Ask a member: by its name, endpoint, `group@name`, `group@endpoint`, socket, or its group if one is here."""
    return _asked(address, _path_of(address), question)


def names_here(members: dict[str, Path]) -> dict[str, str]:
    """What members that were found call themselves: `group@endpoint` -> name. Who does not answer is left out."""
    names = {}
    for key, path in members.items():
        with contextlib.suppress(TransportError):
            names[key] = str(_asked(key, path, "who")["name"])
    return names


def processes_here(members: dict[str, Path]) -> dict[str, int]:
    """The process id of each member that was found, by the kernel: also of one that is stopped or stands still."""
    processes = {}
    for key, path in members.items():
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as line:
            line.settimeout(LIMIT_SECONDS)
            line.connect(str(path))
            processes[key] = _credentials(line)[0]
    return processes


def _asked(address: str, path: Path, question: str) -> dict[str, Any]:
    try:
        with socket.socket(socket.AF_UNIX) as line:
            line.settimeout(LIMIT_SECONDS)
            line.connect(str(path))
            if not _is_of_this_user(line):
                raise TransportError(f"{address} is a socket of somebody else")
            line.sendall(msgspec.json.encode({"ask": question}) + b"\n")
            answer: dict[str, Any] = msgspec.json.decode(_read_all(line), type=dict[str, Any])
    except OSError as error:
        raise TransportError(f"{address} does not answer: {error.strerror or error}") from None
    except msgspec.DecodeError as error:
        raise TransportError(f"{address} does not answer in JSON: {error}") from None
    if "error" in answer:
        raise TransportError(f"{address} answers: {answer['error']}")
    return answer


async def watch(path: Path) -> AsyncIterator[dict[str, Any]]:
    """Watch a member: what it does, a few times a second, until it ends."""
    try:
        reader, writer = await asyncio.open_unix_connection(path, limit=MAX_WATCH_LINE)
    except OSError as error:
        raise TransportError(f"{path.stem} does not answer: {error.strerror or error}") from None
    try:
        if not _is_of_this_user(writer.get_extra_info("socket")):
            raise TransportError(f"{path.stem} is a socket of somebody else")
        writer.write(msgspec.json.encode({"ask": "watch"}) + b"\n")
        while line := await reader.readline():
            answer = msgspec.json.decode(line, type=dict[str, Any])
            if "error" in answer:
                raise TransportError(f"{path.stem} answers: {answer['error']}")
            yield answer
    except (OSError, ValueError) as error:
        raise TransportError(f"{path.stem} cannot be watched any more: {error}") from None
    finally:
        writer.close()


def _path_of(address: str) -> Path:
    if address.endswith(".sock"):
        return Path(address)
    members = find_members()
    matching = [name for name in members if address in (name, *name.split("@", 1))]
    if len(matching) == 1:
        return members[matching[0]]
    names = names_here(members)
    called = [key for key, name in names.items() if address in (name, f"{key.partition('@')[0]}@{name}")]
    if len(called) == 1 and not matching:
        return members[called[0]]
    known = ", ".join(f"{key} ({names[key]})" if key in names else key for key in members) or "none"
    if matching or called:
        raise UsageError(f"{address!r} means several members here; say which: {known}")
    near = [] if ":" in address else get_close_matches(address, list(names.values()), 1)
    meant = f" (did you mean {near[0]}?)" if near else ""
    raise UsageError(f"no member {address!r} runs here under this user{meant}; members here: {known}")


def _read_all(line: socket.socket) -> bytes:
    parts = []
    while part := line.recv(MAX_LINE):
        parts.append(part)
    return b"".join(parts)
