"""Remembered members: a small file from which a process that is started again knows whom to look for.

Also the highest view number that it has seen: a group that is founded anew goes on above it, so that fencing tokens
grow. Written with each view: into a new file, synced, renamed over the old one; by one thread, the newest view only.
At most MOST endpoints. A file that cannot be read is as good as none: it is said, and the next view replaces it; only
that of another group is refused, for it would be overwritten.
"""

from __future__ import annotations

import asyncio
import logging
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import msgspec

from ringcast.errors import ConfigError, TransportError
from ringcast.model import Address, View
from ringcast.runtime.durable import replace_file
from ringcast.transport import Endpoint

_log = logging.getLogger("ringcast")

FORMAT = "ringcast members 1"
MOST = 64
MAX_BYTES = 64 * 1024
MAX_NUMBER = 1 << 62


@dataclass(frozen=True, slots=True)
class _Record:
    format: str
    group: str
    highest: int
    members: list[str]


class Remembered:
    """`members`: where they were, as the file says that was there; `highest`: the number of the last view."""

    def __init__(self, path: Path, group: str) -> None:
        self.path = path
        self._group = group
        record = self._read()
        self.members = [] if record is None else [place for place in record.members[:MOST] if _is_place(place)]
        self.highest = 0 if record is None else min(max(0, record.highest), MAX_NUMBER)
        self._newest: _Record | None = None  # waits for the one that is being written
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="ringcast-members")
        self._has_failed = False

    def _read(self) -> _Record | None:
        try:
            with self.path.open("rb") as file:
                content = file.read(MAX_BYTES + 1)
            record = msgspec.json.decode(content, type=_Record)
        except FileNotFoundError:
            return None
        except (OSError, msgspec.DecodeError, ValueError, RecursionError) as error:
            _log.warning("remember %s cannot be read and is written anew: %s", self.path, error)
            return None
        if len(content) > MAX_BYTES or record.format != FORMAT:
            _log.warning("remember %s is no file of members, and is written anew", self.path)
            return None
        if record.group != self._group:
            raise ConfigError(f"remember {self.path} is the file of group {record.group!r}, not of {self._group!r}")
        return record

    def on_view(self, me: Address, view: View) -> None:
        """Alone, a member goes on remembering whom it was with."""
        self.highest = max(self.highest, view.id.number)
        others = [member.endpoint for member in view.members if member != me]
        self.members = list(dict.fromkeys([*others, *self.members]))[:MOST] if not others else others[:MOST]
        is_writing = self._newest is not None
        self._newest = _Record(FORMAT, self._group, self.highest, self.members)
        if not is_writing:
            self._writer.submit(self._write_newest)

    def _write_newest(self) -> None:
        record, self._newest = self._newest, None
        try:
            replace_file(self.path, msgspec.json.encode(record))
        except OSError as error:
            if not self._has_failed:
                self._has_failed = True
                _log.warning("remember %s cannot be written: %s", self.path, error)

    async def close(self) -> None:
        """Wait until what was begun is written."""
        await asyncio.to_thread(self._writer.shutdown)


def _is_place(place: str) -> bool:
    try:
        Endpoint.parse(place)
    except (TransportError, ValueError):
        return False
    return True
