"""How a process enters a group: what its application asked for, as one value from the driver down to each component."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from ringcast.model import Mark


class RandomSource(Protocol):
    """Randomness is injected, so that a seed replays a run bit for bit. `random.Random` is one."""

    def random(self) -> float:
        """A number from 0 up to, not including, 1."""
        ...


@dataclass(frozen=True, slots=True)
class Entrance:
    expect: int = 0  # found a group as soon as so many are known, otherwise wait longer for others
    observer: bool = False  # in the view, but never coordinates, provides state or counts for a primary partition
    with_state: bool = False  # it joins with the others' state
    reunites: bool = False  # its application merges states after a MergeView
    mark: Mark | None = None  # only the primary side of a partition goes on; this is what it knows of primary views
    keeps_mark: bool = False  # the driver keeps what is learned of primary views, as `KeepMark` says
    founds: bool = True  # a group, when nobody has one; else it waits for others, until it is told that it may
    after: int = 0  # the highest view number that is known from before: a group is founded above it
    beats: bool = True  # it sends its heartbeats itself; else the driver does, as `Beat` says


PLAIN = Entrance()  # no wishes
