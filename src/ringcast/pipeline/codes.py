"""Members as small numbers, given in the order of their addresses, the same in every task of a run.

Somebody who is spoken of but has no recording gets a number beyond those, private to the recording that speaks of him.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ringcast.model import Address
from ringcast.trace import as_address

STRANGERS = 1_000_000  # codes from here on belong to nobody who recorded


class Codes:
    def __init__(self, recorded: Iterable[Address]) -> None:
        self.recorded = sorted(recorded)
        self.strangers: list[Address] = []
        self._codes = {member: code for code, member in enumerate(self.recorded)}

    def of(self, member: Any) -> int:
        """The code of an address, fresh or as it comes from a file."""
        address = as_address(member)
        code = self._codes.get(address)
        if code is None:
            code = self._codes[address] = STRANGERS + len(self.strangers)
            self.strangers.append(address)
        return code

    def of_all(self, members: Any) -> list[int]:
        return [self.of(member) for member in members or ()]
