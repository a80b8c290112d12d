"""One segment as kernels see it: columns up to the first hole, and a few that every rule needs.

`stay` numbers the views installed inside the segment (0: the one it begins with); `stretch` numbers the parts between
views and offsets of the multicast, inside which positions only move forward. Nothing here looks beyond the segment.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from ringcast.model import Kind, ViewId
from ringcast.pipeline.rules.fact import key_of
from ringcast.pipeline.segment import Segment

Array = np.ndarray[Any, np.dtype[Any]]


class Piece:
    """A segment's judgeable events."""

    def __init__(self, segment: Segment) -> None:
        segment = segment.judgeable()
        self.header = segment.header
        self.number = segment.header.number
        self.first_index = segment.header.first_index
        self.member = key_of(segment.header.member)
        self.views, self.details = segment.views, segment.details
        self.kind, self.t_ns, self.view, self.peer = segment.kind, segment.t_ns, segment.view, segment.peer
        self.stream, self.first, self.count = segment.stream, segment.first, segment.count
        self.ordinal, self.value, self.other = segment.ordinal, segment.value, segment.other
        self.detail = segment.detail
        self._addresses = segment.addresses

    def __len__(self) -> int:
        return len(self.kind)

    @cached_property
    def keys(self) -> list[str]:
        """Addresses as text; the last entry answers for code -1."""
        return [*map(key_of, self._addresses), ""]

    @cached_property
    def last(self) -> Array:
        """The last number of each run."""
        ends: Array = self.first + self.count - 1
        return ends

    @cached_property
    def stay(self) -> Array:
        numbers: Array = np.cumsum(self.kind == Kind.VIEW)
        return numbers

    @cached_property
    def stretch(self) -> Array:
        marks = (self.kind == Kind.VIEW) | ((self.kind == Kind.OFFSET) & (self.stream == 0))
        numbers: Array = np.cumsum(marks)
        return numbers

    def where(self, *kinds: Kind) -> Array:
        """The places of these kinds."""
        wanted = np.zeros(256, dtype=bool)
        wanted[[int(kind) for kind in kinds]] = True
        places: Array = np.flatnonzero(wanted[self.kind])
        return places

    def index(self, place: int) -> int:
        """The place in the member's whole recording."""
        return self.first_index + int(place)

    def detail_of(self, place: int) -> Mapping[str, Any]:
        code = int(self.detail[place])
        return self.details[code] if code >= 0 else {}

    def view_of(self, place: int) -> ViewId | None:
        code = int(self.view[place])
        return self.views[code] if code >= 0 else None


def groups(*keys: Array) -> Iterator[Array]:
    """Positions with equal keys, each group in its own order. The last key sorts first, as in lexsort."""
    if not len(keys[0]):
        return
    order = np.lexsort(keys) if len(keys) > 1 else np.argsort(keys[0], kind="stable")
    change = np.zeros(len(order) - 1, dtype=bool)
    for key in keys:
        change |= np.diff(key[order]) != 0
    bounds = [0, *(np.flatnonzero(change) + 1).tolist(), len(order)]
    for start, stop in pairwise(bounds):
        yield order[start:stop]
