"""What every way of finding others offers. It gives hints: an endpoint may be stale, wrong or one's own; the protocol
above asks it, and silence does no harm."""

from __future__ import annotations

from typing import Protocol

from ringcast.errors import TransportError
from ringcast.transport import Endpoint


class NoAnswerYet(TransportError):
    """Nothing is known about the others, not even that there are none: look again, and found no group meanwhile."""


class Discovery(Protocol):
    async def open(self, group: str, me: Endpoint) -> None:
        """Begin: from now on others can find `me` this way (where the way allows that)."""

    async def find(self) -> list[Endpoint]:
        """Where members might be reached, without `me`. Called again and again while a member looks for others.

        An empty list says that nobody is known; `NoAnswerYet` that it could not be found out now. Any other
        RingcastError ends a join at once.
        """

    async def close(self) -> None:
        """Others should no longer find `me` here."""
