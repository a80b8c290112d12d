"""A batch: consecutive ordered messages of one sender that take one tick of the counter together.

`to` holds its destinations as bits, by rank in the view; a batch with none is a barrier. Numbers count a sender's
ordered messages and go on from view to view, so a number names a message for ever. Pure arithmetic on plain ints.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass


@dataclass(slots=True)
class Batch:
    """`payloads` is None where this member does not hold them: not a destination, or not arrived yet."""

    first: int
    count: int
    to: int
    payloads: list[bytes] | None = None
    apart: bool = False  # its payloads travel on the streams to its destinations, not with it

    @property
    def last(self) -> int:
        return self.first + self.count - 1


def mask_of(ranks: Iterable[int]) -> int:
    mask = 0
    for rank in ranks:
        mask |= 1 << rank
    return mask


def ranks_of(mask: int) -> Iterator[int]:
    rank = 0
    while mask:
        if mask & 1:
            yield rank
        mask >>= 1
        rank += 1
