"""How far each sender's stream has come.

A digest maps members to entries (low, delivered, received). `merge` is a join on a lattice (commutative,
associative, idempotent), so the order in which a merge leader hears its subgroups cannot matter (G9). After the merge
`is_reset` says whose window begins again at the merged entry (G10).
Not a vote: in a merge each entry comes from the member it describes (G8); who may put an entry in is decided above.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ringcast.model.address import Address


class Entry(NamedTuple):
    """low = purged by all, delivered = received without gap, received = highest seen. low <= delivered <= received."""

    low: int
    delivered: int
    received: int

    def join(self, other: Entry) -> Entry:
        return Entry(max(self.low, other.low), max(self.delivered, other.delivered), max(self.received, other.received))

    def __str__(self) -> str:
        return f"{self.low} {self.delivered} ({self.received})"


@dataclass(frozen=True, slots=True)
class Digest:
    """An immutable map member -> entry, in the order in which it was built."""

    entries: Mapping[Address, Entry] = field(default_factory=dict)

    @classmethod
    def of(cls, members: Sequence[Address], numbers: Sequence[int]) -> Digest:
        """Two numbers (delivered, received) for each member, flat, as a table of figures gives them."""
        if len(numbers) != 2 * len(members):
            raise ValueError(f"{len(numbers)} numbers for {len(members)} members, expected {2 * len(members)}")
        pairs = zip(numbers[0::2], numbers[1::2], strict=True)
        return cls({m: Entry(0, d, r) for m, (d, r) in zip(members, pairs, strict=True)})

    def __len__(self) -> int:
        return len(self.entries)

    def __iter__(self) -> Iterator[Address]:
        return iter(self.entries)

    def __contains__(self, member: object) -> bool:
        return member in self.entries

    def __getitem__(self, member: Address) -> Entry:
        return self.entries[member]

    def get(self, member: Address) -> Entry | None:
        return self.entries.get(member)

    def merge(self, other: Digest) -> Digest:
        """The join of both: overlapping entries take the maximum of each figure (seed 000)."""
        joined = dict(self.entries)
        for member, entry in other.entries.items():
            mine = joined.get(member)
            joined[member] = entry if mine is None else mine.join(entry)
        return Digest(joined)

    def overlap(self, other: Digest) -> list[Address]:
        """Members that both sides speak about; seed 000 asks for a warning when there are any."""
        return [m for m in self.entries if m in other.entries]

    def missing(self, members: Iterable[Address]) -> list[Address]:
        """Which of these members have no entry yet (G9: a MergeView needs none missing)."""
        return [m for m in members if m not in self.entries]

    def with_entry(self, members: Iterable[Address], member: Address, entry: Entry) -> Digest:
        """This digest with one entry set; setting an entry for somebody who is not a member changes nothing."""
        if member not in tuple(members):
            return self
        return Digest({**self.entries, member: entry})


def consolidate(digests: Iterable[Digest]) -> tuple[Digest, tuple[Address, ...]]:
    """The join of all, and the members of which more than one side spoke (seed 000: log a warning)."""
    whole = Digest()
    overlap: dict[Address, None] = {}
    for digest in digests:
        overlap |= dict.fromkeys(whole.overlap(digest))
        whole = whole.merge(digest)
    return whole, tuple(overlap)


def is_reset(ready: int, offset: int, *, was_apart: bool) -> bool:
    """Does the window of one sender begin again at the digest's offset (G10), or go on where it is?

    A higher or equal local position is kept: what was delivered is not delivered again, what is buffered beyond is not
    thrown away. Between members that were never apart nothing is reset: retransmission gives what is in flight.
    """
    return was_apart and offset > ready
