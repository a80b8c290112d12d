"""Repairing: what others ask for is sent again, our own messages and those of a member that is going away (G5).

A survivor answers from its ring for a crashed sender. Bounded: at most once per asker, message and interval. `low` is
what this member has freed, which every member has taken; so a repair fits the asker's window whatever it heard from the
origin itself.
"""

from __future__ import annotations

from itertools import groupby

from ringcast.core.effects import Cast, Drop, Effect, Unicast
from ringcast.core.multicast.packing import cut_runs, foreign_budget
from ringcast.core.multicast.stream import Outgoing
from ringcast.core.packets import Channel, Piece, Request, Run, Unrepairable
from ringcast.model import Address, Event, Kind, ViewId
from ringcast.window import Ranges, ReceiveWindow, lengths_of, total


class Repairs:
    """What was sent again of others' messages since the last interval."""

    def __init__(self, me: Address, frame_bytes: int, multicasts: bool) -> None:
        self.me = me
        self.frame_bytes = frame_bytes
        self.multicasts = multicasts  # the transport reaches everybody with one packet, so repairs do too
        self.count = 0  # messages sent again
        self.answered: dict[tuple[Address, Address], Ranges] = {}  # emptied at each interval

    def own(self, now_ns: int, asker: Address, request: Request, outgoing: Outgoing, view: ViewId) -> list[Effect]:
        """Our own messages."""
        low = outgoing.window.low
        if request.ranges and request.ranges[0][0] <= low:
            return [
                Drop(f"a request for {request.ranges[0][0]}, at or below low {low}", asker),
                Unicast(asker, Unrepairable(Channel.GROUP, view, low)),
            ]
        out: list[Effect] = []
        for run in outgoing.on_request(None if self.multicasts else asker, request.ranges):
            self.count += len(run.items)
            out.append(Event(Kind.REPAIR, now_ns, view, asker, 0, run.first, len(run.items)))
            out.append(Cast(run) if self.multicasts else Unicast(asker, run))
        return out

    def of_others(
        self, now_ns: int, asker: Address, request: Request, window: ReceiveWindow[bytes], view: ViewId
    ) -> list[Effect]:
        """Somebody else's messages, from what this member holds of them (G5)."""
        out: list[Effect] = []
        for run in self._held(asker, request, window, view):
            self.count += len(run.items)
            origin = {"origin": list(request.origin)}
            out.append(Event(Kind.REPAIR, now_ns, view, asker, 0, run.first, len(run.items), detail=origin))
            out.append(Unicast(asker, run))
        return out

    def _held(self, asker: Address, request: Request, window: ReceiveWindow[bytes], tag: ViewId) -> list[Run]:
        """The runs this member can give of what was asked, as far as it holds them."""
        done = self.answered.setdefault((asker, request.origin), Ranges())
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
