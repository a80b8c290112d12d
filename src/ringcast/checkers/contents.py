"""What a sender sent and what a receiver got under the same seqnos, compared by the digests of their runs (G1).

Digests add up over runs that follow each other, and the two sides may cut their runs differently: they are compared
from one seqno at which both end a run to the next such seqno. A range in which they differ is named once.
A recording without digests says nothing here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field


@dataclass(slots=True)
class Sent:
    """One sender's stream: the sum of all digests up to the end of each of its runs."""

    upto: dict[int, int] = field(default_factory=dict)
    total: int = 0

    def add(self, first: int, last: int, content: int) -> None:
        self.upto.setdefault(first - 1, self.total)
        self.total += content
        self.upto[last] = self.total


@dataclass(slots=True)
class Got:
    """The same stream at one receiver: its runs, each with its digest and the index of its event."""

    runs: list[tuple[int, int, int, int]] = field(default_factory=list)

    def add(self, first: int, last: int, content: int, index: int) -> None:
        self.runs.append((first, last, content, index))


def differing(sent: Sent, got: Got) -> Iterator[tuple[int, int, int]]:
    """(first, last, index of the receiver's event) of each range under which other content was delivered than sent."""
    if not sent.total:
        return
    begin: int | None = None  # both end a run just before it
    reached, mine = 0, 0
    for first, last, content, index in got.runs:
        if begin is None or first != reached + 1:
            begin, mine = (first if first - 1 in sent.upto else None), 0
        mine += content
        reached = last
        if last not in sent.upto:
            continue
        if begin is not None and mine != sent.upto[last] - sent.upto[begin - 1]:
            yield begin, last, index
        begin, mine = last + 1, 0
