"""Control messages to and from peers: reliable, in order per peer, and never behind data.

Messages are values here and bytes on the streams; the codec is injected. A full ring to a peer never blocks the core:
it becomes a suspicion of that peer. So a narrow window for the application's bytes does not bound it: the messages of a
view change grow with the group, and several are on the way at once. Streams of processes outside the view are given up
(multicast/outside_streams.py).
"""

from __future__ import annotations

from collections.abc import Callable

from ringcast.core.control import Control
from ringcast.core.effects import Deliver, Drop, Effect
from ringcast.core.multicast import GivingUp, PeerStreams, largest_item, pieces_of
from ringcast.core.packets import Channel, Run
from ringcast.model import Address, Config, View

LARGEST_CONTROL = 1 << 20  # bytes of one control message, whatever the limits of the application's messages are

Encode = Callable[[Control], bytes]
Decode = Callable[[bytes], Control | Drop]


class ControlStreams:
    """This member's control streams, with the codec that gives them meaning."""

    def __init__(self, me: Address, config: Config, budget: int, encode: Encode, decode: Decode) -> None:
        capacity, window_bytes = config.control_capacity, max(config.window_bytes, LARGEST_CONTROL)
        self.streams = PeerStreams(Channel.CONTROL, me, config, capacity, LARGEST_CONTROL, window_bytes)
        self.giving_up = GivingUp(self.streams, config.resumer_ns)
        self._budget = budget
        self._encode = encode
        self._decode = decode

    def send(self, now_ns: int, to: Address, message: Control) -> list[Effect] | None:
        """The effects, or None if the ring to this peer is full."""
        data = self._encode(message)
        items = [data] if len(data) <= largest_item(self._budget) else pieces_of(data, self._budget)
        if not self.streams.may_send([to], len(items), len(data)):
            return None
        return self.streams.send(now_ns, [to], items)

    def on_run(self, now_ns: int, sender: Address, run: Run) -> tuple[list[Effect], list[Control]]:
        """What to do, and the messages that came; they count as taken at once."""
        out: list[Effect] = []
        messages: list[Control] = []
        for effect in self.streams.on_run(now_ns, sender, run):
            if isinstance(effect, Deliver):
                for payload in effect.payloads:
                    message = self._decode(payload)
                    if isinstance(message, Drop):
                        out.append(Drop(message.reason, sender))
                    else:
                        messages.append(message)
                out += self.streams.on_taken(now_ns, effect)
            else:
                out.append(effect)
        return out, messages

    def on_view(self, now_ns: int, previous: View | None, view: View) -> list[Effect]:
        return self.giving_up.on_view(now_ns, previous, view)

    def on_interval(self, now_ns: int, view: View | None) -> list[Effect]:
        return self.giving_up.on_interval(now_ns, view) + self.streams.on_interval(now_ns)
