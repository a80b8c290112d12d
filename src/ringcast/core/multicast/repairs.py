"""Repairing other members' messages: a survivor answers from its ring for one that is going away (G5).

Bounded like the sender's own repairs: at most once per asker, message and interval. `low` is what this member has
freed, which every member has taken; so a repair fits the asker's window whatever it heard from the origin itself.
"""

from __future__ import annotations

from itertools import groupby

from ringcast.core.multicast.packing import cut_runs, foreign_budget
from ringcast.core.packets import Channel, Piece, Request, Run
from ringcast.model import Address, ViewId
from ringcast.window import Ranges, ReceiveWindow, lengths_of, total


class Repairs:
    """What was sent again of others' messages since the last interval."""

    def __init__(self, me: Address, frame_bytes: int) -> None:
        self.me = me
        self.frame_bytes = frame_bytes
        self._answered: dict[tuple[Address, Address], Ranges] = {}

    def answer(self, asker: Address, request: Request, window: ReceiveWindow[bytes], tag: ViewId) -> list[Run]:
        """The runs this member can give of what was asked, as far as it holds them."""
        done = self._answered.setdefault((asker, request.origin), Ranges())
        runs: list[Run] = []
        for first, last in request.ranges:
            for begin, end in list(done.gaps(first, min(last, window.highest))):
                items = window.get_run(begin, end)
                runs += self._runs(tag, request.origin, begin, window.freed, items)
                done.add(begin, begin + len(items) - 1)
        return runs

    def _runs(self, tag: ViewId, origin: Address, first: int, low: int, items: list[bytes]) -> list[Run]:
        budget = foreign_budget(self.frame_bytes, self.me, origin, tag)
        runs: list[Run] = []
        for kind, group in groupby(items, type):  # A frame says what its items are.
            batch = list(group)
            sizes = lengths_of(batch)
            # A piece goes alone: the frame says that more follows.
            cuts = [(at, at + 1) for at in range(len(batch))] if kind is Piece else cut_runs(batch, sizes, budget)
            runs += [
                Run(Channel.GROUP, tag, origin, first + begin, low, batch[begin:end], total(sizes[begin:end]))
                for begin, end in cuts
            ]
            first += len(batch)
        return runs

    def on_interval(self) -> None:
        self._answered.clear()
