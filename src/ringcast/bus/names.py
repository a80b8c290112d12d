"""Names of buses and peers, and whom a message is for."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from ringcast.bus.errors import UnknownPeer
from ringcast.errors import UsageError

#: As `to`: every attached peer, the sender included.
EVERYONE: Final = "*"
#: As `to`: every attached peer but the sender.
OTHERS: Final = "-"

NAME_BYTES_MAX: Final = 63

_BUS_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*\Z")


def checked_bus_name(name: object) -> str:
    """A bus name becomes part of a file name, so it holds nothing that a path could misread."""
    if not isinstance(name, str) or not _BUS_NAME.match(name) or len(name) > NAME_BYTES_MAX:
        raise UsageError(
            f"{name!r} is no name for a bus: use 1 to {NAME_BYTES_MAX} ASCII letters, digits, '_', '.' and '-', "
            "starting with a letter, digit or '_'"
        )
    return name


def checked_peer_name(name: object) -> str:
    if (
        not isinstance(name, str)
        or not name.isprintable()
        or not 0 < len(name.encode(errors="replace")) <= NAME_BYTES_MAX
        or name != name.strip()
        or name in (EVERYONE, OTHERS)
    ):
        raise UsageError(
            f"{name!r} is no name for a peer: use 1 to {NAME_BYTES_MAX} bytes of printable text without spaces around "
            f"it, and neither {EVERYONE!r} nor {OTHERS!r}"
        )
    return name


def destinations(to: str | Iterable[str], me: str, attached: Iterable[str], bus: str) -> list[str]:
    """The names meant by `to`, each once (O11), in the order of the slots."""
    there = list(attached)
    if to == EVERYONE:
        return there
    if to == OTHERS:
        return [name for name in there if name != me]
    wanted = [to] if isinstance(to, str) else list(to)
    if not wanted:
        raise UsageError("a message needs at least one destination, and 'to' is empty")
    for name in wanted:
        if name not in there:
            raise UnknownPeer(f"no peer {name!r} is attached to bus {bus!r}; attached are {', '.join(there)}")
    return [name for name in there if name in wanted]
