"""Streams to processes that are gone: given up when nothing was acked for a limit by somebody outside the view.

A stream belongs to two incarnations and to no view, so no view ends it; without this a message to a crashed process
would be repeated for ever, and a send that waits for room on its stream would never end (G14).
A member of the view is never given up here: if it does not ack, suspicion and a view are the answer.
"""

from __future__ import annotations

from typing import NamedTuple

from ringcast.core.effects import Drop, Effect, Freed
from ringcast.core.multicast.peer_streams import PeerStreams
from ringcast.model import Address, View


class Standing(NamedTuple):
    """How far a stream had come, and since when it has come no further."""

    epoch: object
    low: int
    since_ns: int


class Forsaken:
    """Watches the outgoing streams of one channel."""

    def __init__(self, streams: PeerStreams, limit_ns: int) -> None:
        self._streams = streams
        self._limit_ns = limit_ns
        self._standing: dict[Address, Standing] = {}

    def on_interval(self, now_ns: int, view: View | None) -> list[Effect]:
        self._standing = {
            peer: self._look(now_ns, peer)
            for peer, stream in self._streams.outgoing.items()
            if not stream.is_idle and (view is None or peer not in view)
        }
        out: list[Effect] = []
        for peer, standing in self._standing.items():
            if now_ns - standing.since_ns >= self._limit_ns:
                window = self._streams.outgoing.pop(peer).window
                out += [Drop("gave up a stream to a process outside the view", peer, window.occupancy), Freed()]
        return out

    def _look(self, now_ns: int, peer: Address) -> Standing:
        stream = self._streams.outgoing[peer]
        before = self._standing.get(peer)
        if before is not None and (before.epoch, before.low) == (stream.tag, stream.window.low):
            return before
        return Standing(stream.tag, stream.window.low, now_ns)
