"""Fencing tokens: a number pair that grows with every grant, so that whoever comes late is known by it.

(view number, counter in that view). A merge view has a greater number than the views of all its sides, so a token of
after a merge is greater than any of before, on whatever side. Two sides of a partition may give equal tokens: with
`partition="primary"` there is one side only.
"""

from __future__ import annotations

from typing import NamedTuple


class Token(NamedTuple):
    view: int
    counter: int

    def __str__(self) -> str:
        return f"{self.view}.{self.counter}"


BEFORE = Token(0, 0)  # before everything


class Fence:
    """For a resource of your own: admits a token that is not older than the newest it has seen, by key."""

    def __init__(self) -> None:
        self._newest: dict[object, Token] = {}

    def admits(self, key: object, token: Token) -> bool:
        if token < self._newest.get(key, token):
            return False
        self._newest[key] = token
        return True
