"""The two halves of a stream on ring windows, for the multicast and for streams to one peer alike (G1, G2, G3).

    Outgoing   what was sent, until everybody who must have it has acked it
    Incoming   one origin's messages, in order, acked as the application takes them; pieces put together again

Invariants: seqnos are taken only with room; purged <= the smallest ack; one answer per message and interval; acks
report `taken`, never `ready`. Not a timer: `on_interval` is called by the owner. Not a queue: what is ready goes
straight to the application. What is missing is asked for by gap_requests.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby

from ringcast.core.effects import Deliver
from ringcast.core.multicast.gap_requests import GapRequests
from ringcast.core.multicast.packing import ITEM_BYTES, cut_runs, ranges_budget, run_budget
from ringcast.core.packets import Ack, Channel, Envelope, Highest, Piece, Request, Run, Tag
from ringcast.model import Address, Config
from ringcast.window import AckMap, Admitted, Alike, Ranges, ReceiveWindow, SendWindow, lengths_of, total


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
        self.owes_low = False  # something is unacked, or the window became empty and nobody was told yet

    def retag(self, tag: Tag) -> None:
        """A new view: what is sent from now on belongs to it."""
        self.tag = tag
        self.budget = run_budget(self.frame_bytes, self.me, tag)

    @property
    def is_idle(self) -> bool:
        return not self.owes_low

    # ---- sending

    def send(self, items: list[bytes], sizes: Sequence[int], together: bool = False) -> list[Run]:
        """Take the next seqnos for these items; the caller has asked for room. `together` = pieces of one message."""
        self._sent_since_interval = True
        self.owes_low = True
        if together:
            return self._apart(self.window.add_run(items, total(sizes), together=True), items)
        if len(items) == 1:
            low, size = self.window.low, sizes[0]
            first = self.window.add_run(items, size)
            return [Run(self.channel, self.tag, self.me, first, low, items, size, size)]
        runs = self._runs(self.window.high + 1, items, sizes)
        for run in runs:  # One by one: the window gives bytes back run by run, so an ack for some makes room at once.
            self.window.add_run(run.items, run.nbytes)
        return runs

    def _runs(self, first: int, items: list[bytes], sizes: Sequence[int]) -> list[Run]:
        channel, tag, me, low, nbytes = self.channel, self.tag, self.me, self.window.low, total(sizes)
        each = sizes.each if type(sizes) is Alike else 0
        if nbytes + ITEM_BYTES * len(items) <= self.budget:
            return [Run(channel, tag, me, first, low, items, nbytes, each)]
        return [
            Run(channel, tag, me, first + at, low, items[at:end], (end - at) * each or total(sizes[at:end]), each)
            for at, end in cut_runs(items, sizes, self.budget)
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
        if self._answered:
            self._answered.clear()
        idle, self._sent_since_interval = not self._sent_since_interval, False
        low, high = self.window.low, self.window.high
        if self.owes_low if low == high else idle:
            self.owes_low = low != high
            return Highest(self.channel, self.tag, high, low)
        return None

    def check(self) -> None:
        self.window.check()
        self.acks.check()
        assert self.owes_low or self.window.low == self.window.high, (self.window.low, self.window.high)


class OwnMessages:
    """This member's own messages that its application has not read: bounded by the capacity, like those of others.

    While it is their reader that sends, by a capacity for each member (Y07).
    """

    def __init__(self) -> None:
        self.unread = 0
        self._bound = 0  # beyond the capacity, while the reader itself sends
        self._awaited_room = 1  # what somebody waits for; with less than this, reading on is news

    def room(self, capacity: int) -> int:
        """How many more may wait to be read."""
        return max(0, max(capacity, self._bound) - self.unread)

    def widen(self, bound: int) -> None:
        """Whoever reads waits to send: up to this bound, until they are read down to the capacity."""
        self._bound = bound

    def await_room(self, count: int) -> None:
        self._awaited_room = max(self._awaited_room, count)

    def on_taken(self, count: int, room: int, capacity: int) -> bool:
        """So many were read, with this room before: does anybody wait for that?"""
        is_awaited = room < self._awaited_room
        self.unread -= count
        if self.unread <= capacity:
            self._bound = 0
        if is_awaited:
            self._awaited_room = 1
        return is_awaited


class Assembly:
    """Puts the pieces of one stream together again. Holds at most one message that is not complete."""

    __slots__ = ("_bytes", "_limit", "_parts")

    def __init__(self, max_message_bytes: int) -> None:
        self._limit = max_message_bytes
        self._parts: list[bytes] | None = []  # None = the message in progress is too large and is being skipped
        self._bytes = 0

    @property
    def is_empty(self) -> bool:
        return self._parts == []

    @property
    def held_bytes(self) -> int:
        return self._bytes if self._parts else 0

    def feed(self, first: int, items: list[bytes]) -> tuple[list[bytes], list[int], int]:
        """(complete messages, the last seqno of each, how many were too large and dropped), from this seqno on."""
        whole: list[bytes] = []
        ends: list[int] = []
        dropped = 0
        for seqno, item in enumerate(items, first):
            if type(item) is Piece:
                self._keep(item)
            elif self._parts == []:
                whole.append(item)
                ends.append(seqno)
            else:
                self._keep(item)
                if self._parts is None:
                    dropped += 1
                else:
                    message = b"".join(self._parts)
                    whole.append(Envelope(message) if type(item) is Envelope else message)
                    ends.append(seqno)
                self._parts, self._bytes = [], 0
        return whole, ends, dropped

    def _keep(self, item: bytes) -> None:
        self._bytes += len(item)
        if self._bytes > self._limit:
            self._parts = None
        elif self._parts is not None and (item or not self._parts):
            self._parts.append(item)  # of empty pieces the first only: they mark that a message has begun


class Incoming:
    """One origin's receive window, with the acks and requests it gives rise to."""

    def __init__(
        self,
        channel: Channel,
        tag: Tag,
        origin: Address,
        me: Address,
        config: Config,
        capacity: int,
        pace: tuple[int, int],
        *,
        max_message_bytes: int | None = None,
        offset: int = 0,
        retain: bool = True,
    ) -> None:
        self.channel = channel
        self.tag = tag
        self.origin = origin
        self.ack_after, self.ack_bytes = pace  # so many messages, or bytes, that were read make an ack due
        self.window: ReceiveWindow[bytes] = ReceiveWindow(capacity, offset, retain)
        self.ceiling: int | None = None  # nothing above it is handed out while a roll call runs
        self.gaps = GapRequests(channel, origin, config, ranges_budget(config.frame_bytes, me, origin), offset)
        self._assembly = Assembly(max_message_bytes or config.max_message_bytes)
        self._has_pieces = False  # there may be pieces among what was not handed out yet
        self.has_sealed = False  # there may be envelopes among what was not handed out yet
        self._unread: Deliver | None = None  # the last that the application was given and has not read
        self._unread_bytes = 0  # since everything was read
        self._acked = offset
        self._taken_bytes = 0

    @property
    def is_idle(self) -> bool:
        window = self.window
        return window.taken == self._acked and window.highest == window.ready

    @staticmethod
    def are_idle(streams: Iterable[Incoming]) -> bool:
        """All of them; asked at every interval, so without a call for each."""
        for stream in streams:
            window = stream.window
            if window.taken != stream._acked or window.highest != window.ready:
                return False
        return True

    @property
    def held_bytes(self) -> int:
        """What lies behind a gap, parts of a message, and what was not read. Counted anew: not for each run of data."""
        window = self.window
        unread = 0 if self._unread is None else self._unread_bytes
        behind = (window.get_run(first, last) for first, last in window.beyond(window.capacity))
        return self._assembly.held_bytes + unread + sum(sum(map(len, items)) for items in behind)

    @property
    def is_settled(self) -> bool:
        """Everything that came was read and acked, and no part of a message waits for the rest of it."""
        return self.is_idle and self.window.taken == self.window.ready and self._assembly.is_empty

    # ---- data

    def on_run(self, run: Run) -> Admitted:
        window = self.window
        if run.low > window.stable:
            window.advance_stable(run.low)
        admitted = window.add_run(run.first, run.items)
        if admitted.beyond:
            self.gaps.refused = max(self.gaps.refused, run.first + len(run.items) - 1)
        if admitted.new and (run.has_pieces or type(run.items[-1]) is not bytes):
            if type(run.items[-1]) is Envelope:
                self.has_sealed = True
            else:
                self._has_pieces = True
        return admitted

    def take_ready(self) -> tuple[int, int, list[bytes], list[int] | None, int]:
        """(first seqno, seqnos handed out, complete messages, their ends, messages dropped as too large)."""
        first, items = self.window.take_ready(self.ceiling)
        if not items or (not self._has_pieces and self._assembly.is_empty):
            return first, len(items), items, None, 0
        self._has_pieces = self.window.highest > self.window.handed
        whole, ends, dropped = self._assembly.feed(first, items)
        return first, len(items), whole, ends, dropped

    def unseal(self, delivery: Deliver) -> list[bytes]:
        """Take out of what was just taken what is for the ordering."""
        if not self.has_sealed:
            return []
        self.has_sealed = self.window.highest > self.window.handed
        payloads, ends = delivery.payloads, delivery.ends
        sealed: list[bytes] = [payload for payload in payloads if type(payload) is Envelope]
        if sealed:
            ends = list(range(delivery.first, delivery.first + len(payloads))) if ends is None else ends
            plain = [at for at, payload in enumerate(payloads) if type(payload) is not Envelope]
            delivery.payloads, delivery.ends = [payloads[at] for at in plain], [ends[at] for at in plain]
        return sealed

    def is_for_reading(self, delivery: Deliver) -> bool:
        """Does the application get this? If not, it counts as taken as soon as everything before it is.

        Acks are cumulative: what stands behind an unread delivery is counted with that one (and leaves none here).
        """
        if delivery.payloads:
            self._unread = delivery
            self._unread_bytes += delivery.nbytes
            return True
        if self._unread is None:
            return False
        self._unread.count += delivery.count
        self._unread.nbytes += delivery.nbytes
        delivery.count = 0
        return False

    def on_taken(self, delivery: Deliver) -> Ack | None:
        """The application has read this: the ack it makes due, if enough has come together."""
        if delivery is self._unread:
            self._unread = None
            self._unread_bytes = 0
        upto, nbytes = delivery.first + delivery.count - 1, delivery.nbytes
        self.window.mark_taken(upto)
        self._taken_bytes += nbytes
        if self.window.taken - self._acked >= self.ack_after or self._taken_bytes >= self.ack_bytes:
            return self.ack()
        return None

    def ack(self) -> Ack:
        self._acked = self.window.taken
        self._taken_bytes = 0
        return Ack(self.channel, self.tag, self._acked)

    # ---- repair

    def on_highest(self, highest: Highest) -> Ack | Request | None:
        """A tail announcement: everything up to it has been on the way for an interval, so what is missing is lost."""
        window, high = self.window, highest.high
        if highest.low > window.stable:
            window.advance_stable(highest.low)
        if high > window.highest:
            window.note_highest(high)
        if window.ready < high and window.ready < window.limit:
            return self.request_now()
        return self.ack() if highest.high > highest.low else None

    @staticmethod
    def all_on_interval(streams: Iterable[Incoming]) -> Iterable[tuple[Incoming, Ack | Request]]:
        """What an interval makes due on these streams: nothing on most of them, at the price of no call."""
        due: list[tuple[Incoming, Ack | Request]] = []
        for stream in streams:
            window, gaps = stream.window, stream.gaps
            if window.taken > stream._acked:
                due.append((stream, stream.ack()))
            if window.ready == window.highest:  # nothing is missing
                gaps.horizon, gaps.may_ask = window.highest, True
            else:
                due += [(stream, request) for request in gaps.on_interval(window, stream.tag)]
        return due

    def request_now(self) -> Request | None:
        """Everything known to be missing, without waiting for the next interval."""
        window = self.window
        return self.gaps.now(window, self.tag) if window.ready < window.highest else None

    def give_up_gap(self) -> int:
        """The origin is gone, and nobody else has what is missing: stop asking. Returns how many are dropped."""
        dropped = self.window.forget_beyond()
        self.gaps.horizon = self.gaps.refused = self.window.highest
        return dropped

    def forget_unhanded(self) -> None:
        """Nothing that was not handed out counts any more."""
        self._has_pieces = self.has_sealed = False
        self.window.forget_unhanded()
        self.gaps.horizon = self.window.highest
