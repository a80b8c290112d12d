"""How a view is named: a number that only grows, and who made it."""

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
