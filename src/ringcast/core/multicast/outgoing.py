"""The sending half of a stream: what was sent, until everybody who must have it has acked it (G2, G3).

Serves the multicast (receivers = the view) and a stream to one peer (receivers = that peer) alike.
Invariants: seqnos are taken only with room; purged <= the smallest ack; one answer per message and interval.
Not a timer: `on_interval` is called by the owner.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby

from ringcast.core.multicast.packing import ITEM_BYTES, cut_runs, run_budget
from ringcast.core.packets import Channel, Highest, Piece, Run, Tag
from ringcast.model import Address
from ringcast.window import AckMap, Alike, Ranges, SendWindow, lengths_of, total


class Outgoing:
    """One stream's send window, with the acks that empty it."""

    def __init__(
        self,
        channel: Channel,
        tag: Tag,
        me: Address,
        receivers: Mapping[Address, int],
        *,
        capacity: int,
        window_bytes: int,
        frame_bytes: int,
        offset: int = 0,
    ) -> None:
        self.channel = channel
        self.me = me
        self.frame_bytes = frame_bytes
        self.window: SendWindow[bytes] = SendWindow(capacity, window_bytes, offset)
        self.acks: AckMap[Address] = AckMap(receivers)
        self.retag(tag)
        self._answered: dict[Address | None, Ranges] = {}  # who was sent what again since the last interval
        self._sent_since_interval = False
        self._owes_low = False  # the window became empty and nobody was told yet

    def retag(self, tag: Tag) -> None:
        """A new view: what is sent from now on belongs to it."""
        self.tag = tag
        self.budget = run_budget(self.frame_bytes, self.me, tag)

    @property
    def is_idle(self) -> bool:
        return self.window.low == self.window.high and not self._owes_low

    # ---- sending

    def send(self, items: list[bytes], sizes: Sequence[int], together: bool = False) -> list[Run]:
        """Take the next seqnos for these items; the caller has asked for room. `together` = pieces of one message."""
        self._sent_since_interval = True
        self._owes_low = True
        if together:
            return self._apart(self.window.add_run(items, total(sizes), together=True), items)
        runs = self._runs(self.window.high + 1, items, sizes)
        for run in runs:  # One by one: the window gives bytes back run by run, so an ack for some makes room at once.
            self.window.add_run(run.items, run.nbytes)
        return runs

    def _runs(self, first: int, items: list[bytes], sizes: Sequence[int]) -> list[Run]:
        low, nbytes = self.window.low, total(sizes)
        each = sizes.each if type(sizes) is Alike else 0
        if nbytes + ITEM_BYTES * len(items) <= self.budget:
            return [Run(self.channel, self.tag, self.me, first, low, items, nbytes, each)]
        return [
            Run(self.channel, self.tag, self.me, first + begin, low, items[begin:end], total(sizes[begin:end]), each)
            for begin, end in cut_runs(items, sizes, self.budget)
        ]

    def _apart(self, first: int, items: list[bytes]) -> list[Run]:
        """The frame says what its items are, and for a piece that more follows: so pieces go alone, others by kind."""
        runs: list[Run] = []
        for kind, group in groupby(items, type):
            alike = list(group)
            runs += self._alone(first, alike) if kind is Piece else self._runs(first, alike, lengths_of(alike))
            first += len(alike)
        return runs

    def _alone(self, first: int, pieces: list[bytes]) -> list[Run]:
        """A run for each. A piece fits a frame: it was cut so, with room to spare for a longer tag."""
        channel, tag, me, low = self.channel, self.tag, self.me, self.window.low
        return [
            Run(channel, tag, me, seqno, low, [piece], len(piece), len(piece))
            for seqno, piece in enumerate(pieces, first)
        ]

    # ---- acks

    def on_ack(self, who: Address, upto: int) -> int:
        """Returns how many messages were purged. An ack beyond what was sent is a mistake and counts as all."""
        if not self.acks.on_ack(who, min(upto, self.window.high)):
            return 0
        return self.window.purge(self.acks.minimum)

    def set_receivers(self, receivers: Mapping[Address, int]) -> int:
        """A view: who stays keeps its ack, who is new starts at its offset, who is gone no longer counts (G3)."""
        self.acks.set_members(receivers)
        return self.window.purge(self.acks.minimum)

    # ---- repair

    def on_request(self, who: Address | None, ranges: tuple[tuple[int, int], ...]) -> list[Run]:
        """What we still have of it; each message once per interval (who = None: the answer is multicast)."""
        done = self._answered.setdefault(who, Ranges())
        runs: list[Run] = []
        for first, last in ranges:
            first, last = max(first, self.window.low + 1), min(last, self.window.high)
            for begin, end in list(done.gaps(first, last)):
                runs += self._apart(begin, self.window.get_run(begin, end))
            if first <= last:
                done.add(first, last)
        return runs

    def on_interval(self) -> Highest | None:
        """Tail: an idle sender with unacked messages repeats its highest; one that became empty tells its low once."""
        self._answered.clear()
        idle, self._sent_since_interval = not self._sent_since_interval, False
        empty = self.window.low == self.window.high
        if (empty and self._owes_low) or (idle and not empty):
            self._owes_low = not empty
            return Highest(self.channel, self.tag, self.window.high, self.window.low)
        return None

    def check(self) -> None:
        self.window.check()
        self.acks.check()
