"""Asking a running member what it does: a Unix socket of the same user, one JSON line in, one JSON line out.

The socket lies in a directory that only this user can enter; its name says group and endpoint. It never changes the
member: questions only. A socket left behind by a killed process is found dead by whoever asks, and removed.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from ringcast.errors import TransportError, UsageError

MAX_LINE = 64 * 1024
LIMIT_SECONDS = 5.0


def socket_directory() -> Path:
    """Where members of this user can be asked. RINGCAST_SOCKETS overrides it."""
    chosen = os.environ.get("RINGCAST_SOCKETS")
    return Path(chosen) if chosen else Path(tempfile.gettempdir()) / f"ringcast-{os.getuid()}"


def socket_path(group: str, endpoint: str) -> Path:
    return socket_directory() / f"{group}@{endpoint}.sock"


class Inspection:
    """The answering side, inside a member."""

    def __init__(self, path: Path, answers: dict[str, Callable[[], dict[str, Any]]]) -> None:
        self._path = path
        self._answers = answers
        self._server: asyncio.Server | None = None

    async def open(self) -> None:
        directory = self._path.parent
        try:
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            if directory.stat().st_uid != os.getuid():
                raise TransportError(
                    f"{directory} belongs to somebody else; set RINGCAST_SOCKETS to a directory of yours"
                )
            self._path.unlink(missing_ok=True)
            self._server = await asyncio.start_unix_server(self._serve, self._path, limit=MAX_LINE)
        except OSError as error:
            raise TransportError(f"cannot answer questions at {self._path}: {error.strerror or error}") from None

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()
            self._path.unlink(missing_ok=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, ValueError, asyncio.LimitOverrunError):
            async with asyncio.timeout(LIMIT_SECONDS):
                writer.write(self._answer(await reader.readline()) + b"\n")
                await writer.drain()
        writer.close()

    def _answer(self, line: bytes) -> bytes:
        try:
            question = msgspec.json.decode(line, type=dict[str, Any])
            answer = self._answers[question["ask"]]
        except (msgspec.DecodeError, KeyError):
            return msgspec.json.encode({"error": f"ask one of {', '.join(self._answers)}"})
        return msgspec.json.encode(answer())


def find_members() -> dict[str, Path]:
    """Members of this user that can be asked on this machine: `group@endpoint` -> socket. Dead ones are removed."""
    found = {}
    for path in sorted(socket_directory().glob("*.sock")):
        if _is_alive(path):
            found[path.stem] = path
        else:
            path.unlink(missing_ok=True)
    return found


def _is_alive(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(LIMIT_SECONDS)
        try:
            probe.connect(str(path))
        except OSError:
            return False
        return True


def ask(address: str, question: str) -> dict[str, Any]:
    """Ask a member: by its socket, its endpoint, its group (if one member is here), or `group@endpoint`."""
    path = _path_of(address)
    try:
        with socket.socket(socket.AF_UNIX) as line:
            line.settimeout(LIMIT_SECONDS)
            line.connect(str(path))
            line.sendall(msgspec.json.encode({"ask": question}) + b"\n")
            answer: dict[str, Any] = msgspec.json.decode(_read_all(line), type=dict[str, Any])
    except OSError as error:
        raise TransportError(f"{address} does not answer: {error.strerror or error}") from None
    except msgspec.DecodeError as error:
        raise TransportError(f"{address} does not answer in JSON: {error}") from None
    if "error" in answer:
        raise TransportError(f"{address} answers: {answer['error']}")
    return answer


def _path_of(address: str) -> Path:
    if address.endswith(".sock"):
        return Path(address)
    members = find_members()
    matching = [path for name, path in members.items() if address in (name, *name.split("@", 1))]
    if len(matching) == 1:
        return matching[0]
    known = ", ".join(members) or "none"
    if matching:
        raise UsageError(f"{address!r} means several members here; say which: {known}")
    raise UsageError(f"no member {address!r} runs here under this user; members here: {known}")


def _read_all(line: socket.socket) -> bytes:
    parts = []
    while part := line.recv(MAX_LINE):
        parts.append(part)
    return b"".join(parts)
