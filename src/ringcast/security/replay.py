"""Which numbers of one sender's session have come: each is taken once.

Invariant: slot n % SIZE holds the highest number of its class that came; so a number within SIZE of the highest is new
exactly if its slot does not hold it, and nothing has to be cleared when the window moves.
"""

from __future__ import annotations

from array import array

SIZE = 16_384
"""As many datagrams as a receive buffer holds: what waits in one socket while another is read is not too old."""


class ReplayWindow:
    """Numbers begin at 1."""

    __slots__ = ("_slots", "highest")

    def __init__(self) -> None:
        self.highest = 0
        self._slots = array("Q", bytes(8 * SIZE))

    def is_too_old(self, number: int) -> bool:
        return number <= self.highest - SIZE or number < 1

    def has_come(self, number: int) -> bool:
        """Of a number that is not too old."""
        return self._slots[number % SIZE] == number

    def note(self, number: int) -> None:
        """It came, and it was genuine."""
        self._slots[number % SIZE] = number
        if number > self.highest:
            self.highest = number
