"""Streams to and from processes that are gone: given up when somebody outside the view moved nothing for a limit.

A stream belongs to two incarnations and to no view, so no view ends it by itself; without this a message to a crashed
process would be repeated indefinitely, a gap in what it sent would be requested indefinitely, and a send that waits for
room on its stream would never end (G14). One rule for every channel: application, control and state. What is between
members ends with the view that removes the peer; streams of other outsiders when nothing moved for the limit. What the
application had sent and the peer had not acked is named to it (`Undelivered`, G16). A member of the view is never given
up here: suspicion and a view are the answer to it.
What was received of a stream is remembered even so: forgotten, an old packet would begin it again (G1).
"""

from __future__ import annotations

from typing import NamedTuple

from ringcast.core.effects import Drop, Effect, Freed
from ringcast.core.multicast.peer_streams import PeerStreams
from ringcast.core.multicast.stream import Incoming, Outgoing
from ringcast.core.packets import Channel
from ringcast.model import Address, Event, Kind, Undelivered, View


class Progress(NamedTuple):
    """How far a stream had come, and since when it has come no further."""

    epoch: object
    mark: int
    since_ns: int


Way = tuple[Address, bool]  # the peer, and whether the stream goes to it


class GivingUp:
    """Watches the streams of one channel."""

    def __init__(self, streams: PeerStreams, limit_ns: int) -> None:
        self._streams = streams
        self._limit_ns = limit_ns
        self.progress: dict[Way, Progress] = {}  # of those outside the view; empty while there is nothing to watch

    def on_view(self, now_ns: int, previous: View | None, view: View) -> list[Effect]:
        """Whom this view removed needs and gives nothing more; a later send to it begins a new stream."""
        out: list[Effect] = []
        for member in () if previous is None else previous.members:
            if member not in view:
                out += self._end(now_ns, member)
                incoming = self._streams.incoming.get(member)
                if incoming is not None:
                    incoming.give_up_gap()
        return out

    def _end(self, now_ns: int, peer: Address) -> list[Effect]:
        """End the stream to this peer. What it has not acked is told, if it is the application's (G16)."""
        streams, stream = self._streams, self._streams.outgoing.pop(peer, None)
        sent = streams.sent.pop(peer, 0)
        if stream is None or not stream.window.occupancy or streams.channel is not Channel.PEER:
            return []
        window = stream.window
        items = window.get_run(window.low + 1, window.high)
        count = sum(type(item) is bytes for item in items)  # the last item of each message; not what the ordering sent
        run = window.low + 1, window.occupancy
        event = Event(Kind.UNDELIVERED, now_ns, None, peer, streams.stream_id(stream), *run, value=count)
        return [event, Undelivered(peer, sent - count + 1, count), Freed()] if count else [event, Freed()]

    def on_interval(self, now_ns: int, view: View | None) -> list[Effect]:
        if self._streams.is_quiet:
            self.progress = {}
            return []
        outside = [
            ((peer, is_to), stream)
            for is_to, streams in ((True, self._streams.outgoing), (False, self._streams.incoming))
            for peer, stream in streams.items()
            if (view is None or peer not in view.ranks) and not stream.is_idle
        ]
        if not outside:
            self.progress = {}
            return []
        self.progress = {way: self._look(now_ns, way, stream) for way, stream in outside}
        out: list[Effect] = []
        for way, stream in outside:
            if now_ns - self.progress[way].since_ns >= self._limit_ns:
                out += self._give_up(now_ns, way[0], stream)
        return out

    def _look(self, now_ns: int, way: Way, stream: Outgoing | Incoming) -> Progress:
        mark = stream.window.low if isinstance(stream, Outgoing) else stream.window.ready
        before = self.progress.get(way)
        if before is not None and (before.epoch, before.mark) == (stream.tag, mark):
            return before
        return Progress(stream.tag, mark, now_ns)

    def _give_up(self, now_ns: int, peer: Address, stream: Outgoing | Incoming) -> list[Effect]:
        if isinstance(stream, Outgoing):
            drop = Drop("gave up a stream to a process outside the view", peer, stream.window.occupancy)
            return [drop, *self._end(now_ns, peer), Freed()]
        has_gap = stream.window.highest > stream.window.ready
        dropped = stream.give_up_gap()
        return [Drop("gave up a gap in a stream from a process outside the view", peer, dropped)] if has_gap else []
