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

_NOWHERE: Array = np.zeros(0, dtype=np.int64)
_FIRST: Array = np.zeros(1, dtype=np.int64)
_FEW = 1 << 16


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
        self.detail, self.content = segment.detail, segment.content
        self._addresses = segment.addresses
        self._places: dict[tuple[Kind, ...], Array] = {}

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
        """The places of these kinds; not to be written to."""
        found = self._places.get(kinds)
        if found is None:
            parts = [self._by_kind[kind] for kind in kinds if kind in self._by_kind]
            found = np.sort(np.concatenate(parts), kind="stable") if parts else _NOWHERE
            self._places[kinds] = found
        return found

    @cached_property
    def _by_kind(self) -> dict[int, Array]:
        """The places of each kind."""
        return {int(self.kind[group[0]]): group for group in groups(self.kind)}

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
    order, starts = grouped(*keys)
    ends = [*starts.tolist(), len(order)]
    for begin, end in pairwise(ends):
        yield order[begin:end]


def grouped(*keys: Array) -> tuple[Array, Array]:
    """The order that puts equal keys together (the last key sorts first), and where in it each group starts.

    Groups are few, so their keys mostly fit one number of 16 bits, which numpy sorts in linear time.
    """
    if not len(keys[0]):
        return _NOWHERE, _NOWHERE
    whole, size = np.zeros(len(keys[0]), dtype=np.int64), 1
    for key in keys:
        low, high = int(key.min()), int(key.max())
        if low < high:
            whole += (key - np.int64(low)) * size
            size *= high - low + 1
        if size > _FEW:
            order = np.lexsort(keys)
            changes = [key[order[1:]] != key[order[:-1]] for key in keys]
            return order, np.flatnonzero(np.append(True, np.logical_or.reduce(changes)))
    if size == 1:
        return np.arange(len(whole)), _FIRST
    narrow = whole.astype(np.uint16)
    order = np.argsort(narrow, kind="stable")
    narrow = narrow[order]
    return order, np.flatnonzero(np.append(True, narrow[1:] != narrow[:-1]))
