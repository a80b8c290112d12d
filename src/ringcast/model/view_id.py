"""How a view is named: a number that only grows, and who made it; and that no name is given twice."""

from __future__ import annotations

from typing import NamedTuple

from ringcast.model.address import Address


class ViewId(NamedTuple):
    """Ordered by number, then creator. Ids only grow at a member (G4)."""

    number: int
    creator: Address

    def __str__(self) -> str:
        return f"{self.creator}|{self.number}"

    def __repr__(self) -> str:
        return str(self)


class ViewNumbers:
    """The highest view number this member knows of, so that no view id is ever given twice (G4).

    It counts what was heard, and what this member put out or proposed itself: a view that it made may be installed
    elsewhere although it never was here. Shared by roll calls and merges, for both make views in this member's name.
    """

    def __init__(self) -> None:
        self.highest = 0

    def note(self, number: int) -> None:
        if number > self.highest:
            self.highest = number

    def next_id(self, above: int, creator: Address) -> ViewId:
        """An id above this number and above all that is known here; from now on it is known."""
        self.note(above)
        self.highest += 1
        return ViewId(self.highest, creator)
