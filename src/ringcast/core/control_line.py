"""Control messages to and from peers: reliable, in order per peer, and never behind data.

Messages are values here and bytes on the streams; the codec is injected. A full ring to a peer never blocks the core:
it becomes a suspicion of that peer. A stream to somebody outside the view that stays unacked is given up after a limit.
"""

from __future__ import annotations

from collections.abc import Callable

from ringcast.core.control import Control
from ringcast.core.effects import Deliver, Drop, Effect
from ringcast.core.multicast import PeerStreams, largest_item, pieces_of
from ringcast.core.packets import Channel, Run
from ringcast.model import Address, Config, View

Encode = Callable[[Control], bytes]
Decode = Callable[[bytes], Control | Drop]


class ControlLine:
    """This member's control streams, with the codec that gives them meaning."""

    def __init__(self, me: Address, config: Config, budget: int, encode: Encode, decode: Decode) -> None:
        self.streams = PeerStreams(Channel.CONTROL, me, config, config.control_capacity)
        self._limit_ns = config.resumer_ns
        self._budget = budget
        self._encode = encode
        self._decode = decode
        self._unacked_since: dict[Address, int] = {}

    def say(self, now_ns: int, to: Address, message: Control) -> list[Effect] | None:
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

    def on_view(self, previous: View | None, view: View) -> None:
        """Those who are gone need nothing more from us; a later word to them begins a new stream.

        What came from them is remembered: forgotten, an old packet would begin its stream again (G1).
        """
        for member in () if previous is None else previous.members:
            if member not in view:
                self.streams.outgoing.pop(member, None)

    def on_interval(self, now_ns: int, view: View | None) -> list[Effect]:
        waiting = [peer for peer, stream in self.streams.outgoing.items() if not stream.is_idle]
        self._unacked_since = {peer: self._unacked_since.get(peer, now_ns) for peer in waiting}
        for peer, since_ns in self._unacked_since.items():
            if now_ns - since_ns >= self._limit_ns and (view is None or peer not in view):
                del self.streams.outgoing[peer]
        return self.streams.on_interval(now_ns)
