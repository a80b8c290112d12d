"""The receiving half of a stream: one origin's messages, in order, acked as the application takes them (G1, G2).

Invariants: what is asked for was already missing one interval ago; acks report `taken`, never `ready`.
Not a timer: `on_interval` is called by the owner. Not a queue: what is ready goes straight to the application.
"""

from __future__ import annotations

from ringcast.core.effects import Deliver
from ringcast.core.multicast.packing import Assembly
from ringcast.core.packets import Ack, Channel, Envelope, Highest, Request, Run, Tag
from ringcast.model import Address
from ringcast.window import Admitted, ReceiveWindow


class Incoming:
    """One origin's receive window, with the acks and requests it gives rise to."""

    def __init__(
        self,
        channel: Channel,
        tag: Tag,
        origin: Address,
        *,
        capacity: int,
        ack_after: int,
        ack_bytes: int,
        max_message_bytes: int,
        max_ranges: int,
        ranges_per_packet: int,
        max_requested: int,
        offset: int = 0,
        retain: bool = True,
    ) -> None:
        self.channel = channel
        self.tag = tag
        self.origin = origin
        self.set_pace(ack_after, ack_bytes)
        self.max_ranges = max_ranges  # in one interval
        self.ranges_per_packet = ranges_per_packet
        self.max_requested = max_requested
        self.window: ReceiveWindow[bytes] = ReceiveWindow(capacity, offset, retain)
        self.ceiling: int | None = None  # nothing above it is handed out while a roll call runs
        self._assembly = Assembly(max_message_bytes)
        self._has_pieces = False  # there may be pieces among what was not handed out yet
        self._has_sealed = False  # there may be envelopes among what was not handed out yet
        self._unread: Deliver | None = None  # the last that the application was given and has not read
        self._unread_bytes = 0  # since everything was read
        self._acked = offset
        self._taken_bytes = 0
        self._horizon = offset  # the highest seqno known at the last interval
        self._ask_again = True  # at most one answer to a tail announcement per interval

    @property
    def is_idle(self) -> bool:
        window = self.window
        return window.taken == self._acked and window.highest == window.ready

    @property
    def held_bytes(self) -> int:
        """Of a stream of which nothing is kept behind a gap: parts of a message, and what was not read."""
        unread = 0 if self._unread is None else self._unread_bytes
        return self._assembly.held_bytes + unread

    @property
    def is_settled(self) -> bool:
        """Everything that came was read and acked, and no part of a message waits for the rest of it."""
        return self.is_idle and self.window.taken == self.window.ready and self._assembly.is_empty

    def set_pace(self, ack_after: int, ack_bytes: int) -> None:
        """So many messages, or bytes, that were read make an ack due."""
        self.ack_after = ack_after
        self.ack_bytes = ack_bytes

    # ---- data

    def on_run(self, run: Run) -> Admitted:
        window = self.window
        window.advance_stable(run.low)
        admitted = window.add_run(run.first, run.items)
        if admitted.new and (run.has_pieces or type(run.items[-1]) is not bytes):
            if type(run.items[-1]) is Envelope:
                self._has_sealed = True
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
        if not self._has_sealed:
            return []
        self._has_sealed = self.window.highest > self.window.handed
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
        self.window.advance_stable(highest.low)
        self.window.note_highest(highest.high)
        if self.window.ready < min(highest.high, self.window.limit):
            return self._request(None)
        return self.ack() if highest.high > highest.low else None

    def on_interval(self) -> list[Ack | Request]:
        window = self.window
        out: list[Ack | Request] = [self.ack()] if window.taken > self._acked else []
        horizon, self._horizon = self._horizon, window.highest
        self._ask_again = True
        if window.ready < window.highest:
            out += self._requests(horizon, self.max_ranges)
        return out

    def request_now(self) -> Request | None:
        """Everything known to be missing, without waiting for the next interval."""
        return self._request(None)

    def give_up_gap(self) -> int:
        """The origin is gone, and nobody else has what is missing: stop asking. Returns how many are dropped."""
        dropped = self.window.forget_beyond()
        self._horizon = self.window.highest
        return dropped

    def forget_unhanded(self) -> None:
        """Nothing that was not handed out counts any more."""
        self._has_pieces = self._has_sealed = False
        self.window.forget_unhanded()
        self._horizon = self.window.highest

    def _request(self, upto: int | None) -> Request | None:
        """As much of what is missing as one packet can name."""
        return next(iter(self._requests(upto, min(self.max_ranges, self.ranges_per_packet))), None)

    def _requests(self, upto: int | None, most: int) -> list[Request]:
        """Several packets: under heavy loss one cannot name all gaps of a window."""
        if not self._ask_again:
            return []
        ranges = self.window.missing(most, self.max_requested, upto)
        self._ask_again = not ranges
        return [
            Request(self.channel, self.tag, self.origin, tuple(ranges[at : at + self.ranges_per_packet]))
            for at in range(0, len(ranges), self.ranges_per_packet)
        ]
