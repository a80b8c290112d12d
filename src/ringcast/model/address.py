"""Who a member is: a name, the incarnation of the process behind it, and where its packets go.

An address is stable for the life of a process, totally ordered (lowest address leads a merge) and printable.
A process that restarts at the same endpoint has a new incarnation and therefore is a new member.
Not a routing table: the endpoint travels inside the address, so nobody has to learn it from third parties.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"

MAX_NAME = 64
MAX_ENDPOINT = 96
MAX_INCARNATION = 2**63 - 1


class Address(NamedTuple):
    """Ordered by name, then incarnation, then endpoint (plain tuple order)."""

    name: str
    incarnation: int
    endpoint: str

    def __str__(self) -> str:
        return f"{self.name}#{_base36(self.incarnation)}"

    def __repr__(self) -> str:
        return str(self)

    @property
    def wire_bytes(self) -> int:
        """What this address takes in a frame: two lengths, the incarnation, the texts."""
        return 10 + len(self.name.encode()) + len(self.endpoint.encode())

    def is_successor_of(self, other: Address) -> bool:
        """True if this is a later process at the same place (G4: the old one is gone for good)."""
        return self.name == other.name and self.endpoint == other.endpoint and self.incarnation > other.incarnation


def check_name(name: object) -> str | None:
    """Why this cannot be a member's or a group's name, or None if it can."""
    if not isinstance(name, str):
        return f"name {name!r} must be text"
    if not name or len(name.encode()) > MAX_NAME:
        return f"name {name!r} must have 1 to {MAX_NAME} bytes"
    if not name.isprintable() or any(c.isspace() or c in "#/," for c in name):
        return f"name {name!r} must be printable, without spaces and without '#', '/' or ','"
    return None


@lru_cache(4096)
def _base36(number: int) -> str:
    text = ""
    while True:
        number, digit = divmod(number, 36)
        text = _DIGITS[digit] + text
        if number == 0:
            return text
