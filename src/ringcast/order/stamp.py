"""A place in the one order of a group: (view number, counter value in that view).

Between views the view number decides, so counters need no merging. Printable and short, so that it can be carried over
HTTP or anything else. Comparable among members that go together from view to view; what two sides of a partition
stamped while they were apart may carry equal numbers and says nothing about the other side.
"""

from __future__ import annotations

from typing import NamedTuple

_MOST = 2**63 - 1


class Stamp(NamedTuple):
    """Everything ordered up to here. `Stamp(0, 0)` is before everything."""

    view: int
    seq: int

    def __str__(self) -> str:
        return f"{self.view}.{self.seq}"

    @classmethod
    def parse(cls, text: str) -> Stamp:
        """The stamp that was printed like this; ValueError if none was."""
        view, dot, seq = text.partition(".")
        if not (dot and _is_number(view) and _is_number(seq)):
            raise ValueError(f"not a stamp: {text[:64]!r}")
        return cls(int(view), int(seq))


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 19 and int(text) <= _MOST
