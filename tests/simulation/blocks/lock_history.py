"""Who held which lock when and with which token, and an independent judge of what was promised.

Nothing here knows how locks work: each process notes when its block began and ended, its token, and the views it saw.
The promise: at no moment do two processes that are in the same view hold the same key; tokens of a key grow from grant
to grant among those who go together, and behind a merge they are greater than any of before on the sides it joined.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import combinations


@dataclass
class Hold:
    key: str
    began: float
    tokens: list[tuple[float, tuple[int, int]]]  # since when, which
    ended: float = float("inf")


@dataclass
class Process:
    who: str
    holds: list[Hold] = field(default_factory=list)
    views: list[tuple[float, object, int]] = field(default_factory=list)  # since when, its id, its number
    died: float = float("inf")

    def views_during(self, hold: Hold) -> Iterable[tuple[float, float, object]]:
        end = min(hold.ended, self.died)
        for index, (since, view, _) in enumerate(self.views):
            until = self.views[index + 1][0] if index + 1 < len(self.views) else float("inf")
            if since < end and until > hold.began:
                yield max(since, hold.began), min(until, end), view


def judge(processes: list[Process]) -> list[str]:
    found = []
    held = [(process, hold) for process in processes for hold in process.holds]
    for (one, mine), (other, theirs) in combinations(held, 2):
        if mine.key == theirs.key and one is not other:
            found += _both(one, mine, other, theirs)
    for process in processes:
        found += _tokens(process)
    return found


def _both(one: Process, mine: Hold, other: Process, theirs: Hold) -> Iterable[str]:
    for began, ended, view in one.views_during(mine):
        for since, until, same in other.views_during(theirs):
            if view == same and max(began, since) < min(ended, until):
                yield f"{one.who} and {other.who} both held {mine.key} in {view}: {mine} and {theirs}"


def _tokens(process: Process) -> Iterable[str]:
    """Each token is newer than the last of its key here, and not newer than the view it was given in."""
    last: dict[str, tuple[int, int]] = {}
    for hold in process.holds:
        for since, token in hold.tokens:
            if token <= last.get(hold.key, (0, 0)):
                yield f"{process.who}: token {token} of {hold.key} behind {last[hold.key]}"
            last[hold.key] = token
            number = max((number for at, _, number in process.views if at <= since), default=0)
            if token[0] > number:
                yield f"{process.who}: token {token} of {hold.key} in view {number}"


def older_than_before(processes: list[Process], merged_at: dict[int, float]) -> list[str]:
    """Tokens given behind a merge are greater than all of before it, whoever had them.

    `merged_at`: the number of each merge view that all of them were in, and when the first was in it.
    """
    found = []
    for number, at in merged_at.items():
        before = [
            token for process in processes for hold in process.holds for since, token in hold.tokens if since < at
        ]
        for process in processes:
            joined = min((since for since, _, seen in process.views if seen == number), default=float("inf"))
            for hold in process.holds:
                found += [
                    f"{process.who}: token {token} of {hold.key} behind merge {number} is older than {max(before)}"
                    for since, token in hold.tokens
                    if since > joined and before and token < max(before)
                ]
    return found


def given_twice(processes: list[Process]) -> list[str]:
    """With one primary side a token is given once."""
    given: dict[tuple[str, tuple[int, int]], str] = {}
    found = []
    for process in processes:
        for hold in process.holds:
            for _, token in hold.tokens:
                other = given.setdefault((hold.key, token), process.who)
                if other != process.who:
                    found.append(f"token {token} of {hold.key} was given to {other} and to {process.who}")
    return found
