"""When a check looks at everything again: seldom enough that checking costs what changed, not what is held.

A check after every step looks at the ends of a structure and at the place of the last change. Everything is looked at
as soon as that costs at most `AT_ONCE` elements for each check since the last time. So the price of n checks is O(n),
however much is held; what is small is looked at whole every time; and whatever is broken elsewhere and stays so is
found within size / `AT_ONCE` further checks.
"""

from __future__ import annotations

AT_ONCE = 8


class Audit:
    """Counts the checks of one structure."""

    __slots__ = ("_checks",)

    def __init__(self) -> None:
        self._checks = 0

    def is_due(self, size: int) -> bool:
        """One more check of so many elements: is it time to look at all of them?"""
        self._checks += 1
        if self._checks * AT_ONCE < size:
            return False
        self._checks = 0
        return True
