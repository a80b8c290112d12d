"""Reading recordings back: every whole, checked frame up to the end or the cut, and nothing that is not one.

A recording is `closed` (its member ended in good order and everything is here) or cut; what a cut member did after its
last flushed event is unknown. Where events were dropped there is a hole; what comes after the hole is readable, but
no guarantee may be judged from it. Bytes that are not a recording give a TraceError or a cut that says why.
"""

from __future__ import annotations

import glob
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from urllib.parse import urlparse

from ringcast.errors import UsageError
from ringcast.model import Address, Event
from ringcast.trace.block import Columns, decode_block, encode_block
from ringcast.trace.errors import TraceError
from ringcast.trace.header import Header, from_frame
from ringcast.trace.segment import SUFFIX, UNDER_WAY, Frame, read_frames


@dataclass(slots=True)
class Recording:
    """One member's recording. `hole`: index of the first event after a loss. `cut`: why reading ended early."""

    header: Header
    count: int = 0
    closed: bool = False
    dropped: int = 0
    hole: int | None = None
    cut: str | None = None
    segments: tuple[Path, ...] = ()
    _events: Sequence[Event] | None = field(default=None, repr=False)

    @classmethod
    def of(cls, header: Header, events: Sequence[Event], closed: bool = True, dropped: int = 0) -> Recording:
        """A recording of events that are in memory."""
        return cls(header, len(events), closed, dropped, len(events) if dropped else None, _events=events)

    @property
    def member(self) -> Address:
        return self.header.member

    @property
    def is_whole(self) -> bool:
        """Everything that the member did is here."""
        return self.closed and self.hole is None

    @property
    def events(self) -> Iterator[Event]:
        """All events from the start; a damaged block ends them, like a cut."""
        if self._events is not None:
            return iter(self._events)
        return (event for columns in self.blocks() for event in columns.events())

    def blocks(self) -> Iterator[Columns]:
        """The same as columns, one value per block: for those who want arrays."""
        if self._events is not None:
            yield from (decode_block(encode_block(chunk)) for chunk in _chunks(self._events))
            return
        try:
            for frame in _frames(self.segments):
                if frame.tag == b"E":
                    yield decode_block(frame.payload[4:])
        except TraceError as error:
            self._cut_at(str(error))

    def judgeable(self) -> Iterator[Event]:
        """The events before the first hole: those from which a guarantee may be judged."""
        return islice(self.events, self.hole)

    def _cut_at(self, why: str) -> None:
        self.cut = self.cut or why
        self.closed = False


def read_recording(directory: Path) -> Recording:
    """The recording whose segments lie in this directory."""
    segments = tuple(sorted(directory.glob("*" + SUFFIX)))
    if not segments:
        raise TraceError(f"no recording in {directory}")
    recording: Recording | None = None
    try:
        for frame in _frames(segments):
            if recording is None:
                recording = Recording(_header(frame), segments=segments)
            else:
                _note(recording, frame)
    except TraceError as error:
        if recording is None:
            raise
        recording._cut_at(str(error))
    except OSError as error:
        raise TraceError(f"cannot read {directory}: {error.strerror or error}") from None
    if recording is None:
        raise TraceError(f"the recording in {directory} was cut before its header")
    return recording


def read_run(paths: Iterable[Path]) -> list[Recording]:
    """Every recording found in or below these paths, ordered by member; TraceError if a path has none."""
    return _read_all(directory for path in paths for directory in _directories(path))


def _read_all(directories: Iterable[Path]) -> list[Recording]:
    found = map(read_recording, directories)
    members: dict[Address, Recording] = {}
    for recording in sorted(found, key=lambda r: r.member):
        if recording.member in members:
            raise TraceError(f"two recordings of the same member {recording.member}: judge one run at a time")
        members[recording.member] = recording
    return list(members.values())


def read_runs(paths: Iterable[Path]) -> dict[str, list[Recording]]:
    """Every recording found in or below these paths, by run; without a name a run is the directory of its members."""
    runs, unread = readable_runs(paths)
    for _, why in unread:
        raise TraceError(why)
    return runs


def readable_runs(paths: Iterable[Path]) -> tuple[dict[str, list[Recording]], list[tuple[Path, str]]]:
    """Every run of which something can be read, and the directories that cannot be read, each with why."""
    runs: dict[str, dict[Path, None]] = {}
    unread: dict[Path, str] = {}
    for directory in dict.fromkeys(directory for path in paths for directory in _directories(path)):
        try:
            run = read_recording(directory).header.run or unnamed_run(directory)
        except TraceError as error:
            unread[directory] = str(error)
        else:
            runs.setdefault(run, {})[directory] = None
    return {run: _read_all(directories) for run, directories in sorted(runs.items())}, list(unread.items())


def unnamed_run(directory: Path) -> str:
    """The run of a recording in this directory that names none: the place of all its members, with nothing escaped."""
    return f"file://{directory.absolute().parent}"


def is_segment(name: str) -> bool:
    """Is this the name of a file that a recorder writes, finished or under way?"""
    return name.endswith(SUFFIX) and name.removesuffix(SUFFIX).removeprefix(UNDER_WAY).isdecimal()


def local_paths(uri: str) -> list[Path]:
    """What a local path, a `file:` URI or a glob names; nothing if nothing is there. UsageError for other schemes."""
    if urlparse(uri).scheme not in ("", "file"):
        raise UsageError(f"{uri} is not on this machine: only Spark can judge it")
    path = uri.removeprefix("file://").removeprefix("file:")
    return [Path(path)] if Path(path).exists() else [Path(found) for found in sorted(glob.glob(path))]


def _chunks(events: Sequence[Event], size: int = 1 << 13) -> Iterator[Sequence[Event]]:
    return (events[start : start + size] for start in range(0, len(events), size))


def _directories(path: Path) -> list[Path]:
    if not path.is_dir():
        raise TraceError(f"{path} is not a directory with recordings")
    found = sorted({segment.parent for segment in path.rglob("*" + SUFFIX)})
    if not found:
        raise TraceError(f"no recording in {path}")
    return found


def _frames(segments: Sequence[Path]) -> Iterator[Frame]:
    for number, path in enumerate(segments):
        yield from read_frames(path, number)


def _header(frame: Frame) -> Header:
    if frame.tag != b"H":
        raise TraceError(f"{frame.path} does not begin with a header")
    return from_frame(frame.payload, 0)[0]


def _note(recording: Recording, frame: Frame) -> None:
    recording.closed = frame.tag == b"Z"
    if frame.tag == b"E":
        recording.count += int.from_bytes(frame.payload[:4], "little")
    elif frame.tag == b"L":
        recording.dropped += int.from_bytes(frame.payload[:8], "little")
        if recording.hole is None:
            recording.hole = recording.count
    elif frame.tag not in b"HZ":
        raise TraceError(f"unknown frame {frame.tag!r} in {frame.path}")
