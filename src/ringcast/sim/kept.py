"""Outcomes kept in a file, so that ten thousand seeds can be run in pieces: one JSON line each, only ever appended.

Whatever ends a batch (Ctrl-C, kill, power), at most the runs that were under way are lost: a line is written whole or,
torn, not counted. A line says what was asked for; seeds asked for differently in the same file do not mix.
One batch at a time writes a file.
"""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from ringcast.errors import UsageError
from ringcast.sim.batch import Asked
from ringcast.sim.run import Outcome


class Line(msgspec.Struct):
    asked: Asked
    outcome: Outcome


_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(Line)


class Kept:
    """The file of one batch, open for appending; a context manager."""

    def __init__(self, path: Path, asked: Asked) -> None:
        self.path = path
        self.asked = asked
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = path.open("ab+", buffering=0)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._file.close()
            raise UsageError(f"another batch is writing {path}; wait for it, or name another file") from None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self._file.close()

    def outcomes(self) -> dict[int, Outcome]:
        """What is there of this batch, by seed."""
        return {line.outcome.seed: line.outcome for line in self._lines() if line.asked == self.asked}

    def _lines(self) -> Iterator[Line]:
        self._file.seek(0)
        for text in self._file.read().splitlines():
            try:
                yield _decoder.decode(text)
            except msgspec.DecodeError:
                continue  # torn by what ended the batch before; its seed is run again

    def add(self, outcome: Outcome) -> None:
        """A line feed in front too: it ends a line that was torn."""
        self._file.write(b"\n" + _encoder.encode(Line(self.asked, outcome)) + b"\n")
