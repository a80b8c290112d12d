"""Where a simulated process meets the network: packets become frames here, and frames that cannot be read now are kept.

Every frame is held against `frame_bytes`. What arrives while the process is frozen stays in the buffer of its socket;
what does not fit there is lost, as with any socket.
Not a transport: delay, loss and cuts are the network's.
"""

from __future__ import annotations

from collections import deque

from ringcast.core import Cast, Node, Probe, Unicast
from ringcast.sim.network import Network
from ringcast.sim.nodes import name_at
from ringcast.wire import Codec


class Port:
    """One process's codec and socket."""

    def __init__(self, network: Network, group: str, node: Node) -> None:
        codec = Codec(group, node.me)
        self.decode = codec.decode
        self.kept: deque[tuple[bytes, bool]] = deque()  # frames that nobody has read, and whether they are damaged
        self._kept_bytes = 0
        self._encode = codec.encode
        self._node = node
        self._name = node.me.name
        self._frame_bytes = node.config.frame_bytes
        self._buffer_bytes = node.config.receive_buffer_bytes
        self._transmit = network.transmit

    # ---- out

    def cast(self, effect: Cast) -> None:
        packet, me = effect.packet, self._node.me
        frame = self._encode(packet)
        assert len(frame) <= self._frame_bytes, (len(frame), packet)
        for member in self._node.view.members:
            if member != me:
                self._transmit(self._name, member.name, packet, frame)

    def unicast(self, effect: Unicast) -> None:
        to, packet = effect
        frame = self._encode(packet, to)
        assert len(frame) <= self._frame_bytes, (len(frame), packet)
        self._transmit(self._name, to.name, packet, frame)

    def probe(self, effect: Probe) -> None:
        self._transmit(self._name, name_at(effect.endpoint), effect.packet, self._encode(effect.packet))

    # ---- in

    def keep(self, frame: bytes, is_damaged: bool) -> None:
        """The process does not read now."""
        if self._kept_bytes + len(frame) <= self._buffer_bytes:
            self._kept_bytes += len(frame)
            self.kept.append((frame, is_damaged))

    def take_kept(self) -> deque[tuple[bytes, bool]]:
        """It reads again: everything that was kept, in the order of arrival."""
        kept, self.kept, self._kept_bytes = self.kept, deque(), 0
        return kept
