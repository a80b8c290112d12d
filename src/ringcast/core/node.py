"""One member: the one place where its organs meet. Facts go in, a list of effects comes out, readable top to bottom.

Organs know nothing of each other; this file routes packets to them, keeps their one timer, and turns a send into
runs. Pure: no IO, no clock, no randomness of its own. `deadline_ns` says when `on_time` wants to be called.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ringcast.core.effects import Deliver, Drop, Effect
from ringcast.core.multicast import GroupStream, PeerStreams, largest_item, pieces_of
from ringcast.core.packets import Ack, Channel, Highest, Packet, Request, Reset, Run, Unrepairable
from ringcast.errors import ConfigError, UsageError
from ringcast.model import Address, Config, View


class Node:
    """A member of a group with a given view."""

    def __init__(
        self, me: Address, config: Config, view: View, offsets: Mapping[Address, int], *, multicasts: bool = False
    ) -> None:
        if me not in view:
            raise UsageError(f"{me} is not in its own view {view}")
        self.me = me
        self.config = config
        self.group = GroupStream(me, config, view, offsets, multicasts=multicasts)
        self.peers = PeerStreams(Channel.PEER, me, config, config.stream_capacity)
        self.largest_whole = largest_item(self.group.outgoing.budget)
        if self.largest_whole < 64:
            raise ConfigError(
                f"frame_bytes {config.frame_bytes} leaves no room for messages beside the addresses; use more"
            )
        self._next_interval_ns: int | None = None
        self._on: dict[type, Callable[..., list[Effect]]] = {
            Run: self._on_run,
            Ack: self._on_ack,
            Request: self._on_request,
            Highest: self._on_highest,
            Unrepairable: self._on_unrepairable,
            Reset: self._on_reset,
        }

    @property
    def view(self) -> View:
        return self.group.view

    def begin(self, now_ns: int) -> list[Effect]:
        return self.group.begin(now_ns)

    # ---- the application sends

    def room(self) -> int:
        """How many small messages may be multicast now."""
        return self.group.room()

    def fit(self, sizes: list[int]) -> int:
        """How many of the leading messages of these sizes may be multicast now, as whole messages."""
        return self.group.outgoing.window.fit(sizes[: self.room()])

    def send(self, now_ns: int, payloads: list[bytes], sizes: list[int]) -> list[Effect]:
        """Multicast messages that each fit a frame; `fit` said that there is room for all of them."""
        self._wake_by(now_ns)
        return self.group.send(now_ns, payloads, sizes)

    def may_send_large(self, payload: bytes) -> bool:
        """Is there room now for all pieces of a message that does not fit a frame?"""
        count = self.pieces(len(payload))
        return self.room() >= count and self.group.outgoing.window.may_add(count, len(payload), together=True)

    def pieces(self, nbytes: int) -> int:
        return max(1, -(-nbytes // self.largest_whole))

    def send_large(self, now_ns: int, payload: bytes) -> list[Effect]:
        """Multicast one message in pieces; `may_send_large` said yes."""
        self._wake_by(now_ns)
        items = pieces_of(payload, self.group.outgoing.budget)
        return self.group.send(now_ns, items, list(map(len, items)), [payload])

    def may_send_to(self, peers: list[Address], nbytes: int) -> bool:
        return self.peers.may_send(peers, self.pieces(nbytes), nbytes)

    def send_to(self, now_ns: int, peers: list[Address], payload: bytes) -> list[Effect]:
        """One message to some peers, on the stream of each; `may_send_to` said yes."""
        self._wake_by(now_ns)
        whole = len(payload) <= self.largest_whole
        return self.peers.send(now_ns, peers, [payload] if whole else pieces_of(payload, self.group.outgoing.budget))

    # ---- the application reads

    def on_taken(self, now_ns: int, delivery: Deliver) -> list[Effect]:
        self._wake_by(now_ns)
        if delivery.channel is Channel.GROUP:
            return self.group.on_taken(now_ns, delivery)
        return self.peers.on_taken(now_ns, delivery)

    # ---- packets

    def on_packet(self, now_ns: int, sender: Address, packet: Packet) -> list[Effect]:
        if self._next_interval_ns is None:
            self._wake_by(now_ns)
        return self._on[type(packet)](now_ns, sender, packet)

    def _on_run(self, now_ns: int, sender: Address, run: Run) -> list[Effect]:
        return self._streams(run).on_run(now_ns, sender, run)

    def _on_ack(self, now_ns: int, sender: Address, ack: Ack) -> list[Effect]:
        return self._streams(ack).on_ack(now_ns, sender, ack)

    def _on_request(self, now_ns: int, sender: Address, request: Request) -> list[Effect]:
        return self._streams(request).on_request(now_ns, sender, request)

    def _on_highest(self, now_ns: int, sender: Address, highest: Highest) -> list[Effect]:
        return self._streams(highest).on_highest(now_ns, sender, highest)

    def _on_unrepairable(self, now_ns: int, sender: Address, packet: Unrepairable) -> list[Effect]:
        return self._streams(packet).on_unrepairable(sender, packet)

    def _on_reset(self, now_ns: int, sender: Address, reset: Reset) -> list[Effect]:
        if reset.channel is Channel.GROUP:
            return [Drop("a reset of the multicast", sender)]
        return self.peers.on_reset(now_ns, sender, reset)

    def _streams(self, packet: Packet) -> GroupStream | PeerStreams:
        return self.group if packet.channel is Channel.GROUP else self.peers

    # ---- views

    def on_view(self, now_ns: int, view: View, offsets: Mapping[Address, int]) -> list[Effect]:
        self._wake_by(now_ns)
        return self.group.on_view(now_ns, view, offsets)

    # ---- time

    def deadline_ns(self) -> int | None:
        return self._next_interval_ns

    def on_time(self, now_ns: int) -> list[Effect]:
        """Called at or after the deadline. Quiet when idle: without work there is no deadline."""
        if self._next_interval_ns is None or now_ns < self._next_interval_ns:
            return []
        out = self.group.on_interval(now_ns) + self.peers.on_interval(now_ns)
        idle = self.group.is_idle and self.peers.is_idle
        self._next_interval_ns = None if idle else now_ns + self.config.xmit_interval_ns
        return out

    def _wake_by(self, now_ns: int) -> None:
        if self._next_interval_ns is None:
            self._next_interval_ns = now_ns + self.config.xmit_interval_ns

    def check(self) -> None:
        self.group.check()
        self.peers.check()
