"""When a gap is requested: what was already missing one interval ago, or found no room; as much as packets can name.

A message that is missing may be on its way; after an interval it is lost. Where the sender itself says how far it has
come (`Highest`), what is missing has been on the way for an interval, and is asked for at once. What came and found no
room is not on its way either: it is asked for when there is room, once, and after that like any gap. So a sender with
a larger window than its receiver moves one window of the receiver per round trip. Bounded: what one interval may ask
for, and one answer to a tail announcement per interval.
"""

from __future__ import annotations

from ringcast.core.effects import Effect, Unicast
from ringcast.core.packets import Ack, Channel, Request, Tag
from ringcast.model import Address, Config, Event, Kind, ViewId
from ringcast.window import ReceiveWindow


class GapRequests:
    """What is missing of one stream, and since when."""

    def __init__(self, channel: Channel, origin: Address, config: Config, ranges_per_packet: int, offset: int) -> None:
        self.channel = channel
        self.origin = origin
        self.most_ranges = config.request_ranges  # in one interval
        self.most_messages = config.request_messages
        self.ranges_per_packet = ranges_per_packet
        self.horizon = offset  # the highest seqno known at the last interval
        self.may_ask = True  # at most one answer to a tail announcement per interval
        self.refused = offset  # the highest seqno that came and found no room
        self._claimed = offset  # of those, the highest that was asked for since

    def on_interval(self, window: ReceiveWindow[bytes], tag: Tag) -> list[Request]:
        horizon, self.horizon = self.horizon, window.highest
        self.may_ask = True
        return self._requests(window, tag, horizon, self.most_ranges)

    def now(self, window: ReceiveWindow[bytes], tag: Tag) -> Request | None:
        """Everything known to be missing, as much of it as one packet can name."""
        return next(iter(self._requests(window, tag, None, min(self.most_ranges, self.ranges_per_packet))), None)

    def claim(self, window: ReceiveWindow[bytes], tag: Tag) -> Request | None:
        """There is room again: what was refused for want of it."""
        first = max(window.ready, self._claimed) + 1
        last = min(self.refused, window.limit, first + self.most_messages - 1)
        if last < first:
            return None
        window.note_highest(last)
        self._claimed = last
        self.horizon = min(self.horizon, first - 1)  # The answer may take as long as any message.
        ranges = self.between(window, first, last)
        return Request(self.channel, tag, self.origin, ranges) if ranges else None

    def _requests(self, window: ReceiveWindow[bytes], tag: Tag, upto: int | None, most: int) -> list[Request]:
        """Several packets: under heavy loss one cannot name all gaps of a window."""
        if not self.may_ask:
            return []
        ranges = window.missing(most, self.most_messages, upto)
        self.may_ask = not ranges
        return [
            Request(self.channel, tag, self.origin, tuple(ranges[at : at + self.ranges_per_packet]))
            for at in range(0, len(ranges), self.ranges_per_packet)
        ]

    def between(self, window: ReceiveWindow[bytes], first: int, last: int) -> tuple[tuple[int, int], ...]:
        """What is missing from `first` to `last`, as one packet can name it."""
        gaps = window.missing(self.ranges_per_packet, self.most_messages, last)
        return tuple((max(first, begin), end) for begin, end in gaps if end >= first)


def asked(now_ns: int, view: ViewId | None, to: Address, stream: int, answer: Ack | Request) -> list[Effect]:
    """A request on its way, with what the recording says of it; or an ack, which is recorded where it arrives."""
    if isinstance(answer, Ack):
        return [Unicast(to, answer)]
    ranges = [Event(Kind.REQUEST, now_ns, view, to, stream, first, last - first + 1) for first, last in answer.ranges]
    return [Unicast(to, answer), *ranges]
