"""The socket of a simulated process: what it keeps while nobody reads, and what it sends."""

from ringcast.core import Cast, Highest, Packet, Unicast
from ringcast.model import profile
from ringcast.sim import Cluster
from ringcast.sim.clock import Clock
from ringcast.sim.network import Link, Network
from ringcast.sim.port import Port


def test_a_socket_keeps_frames_in_order_up_to_its_buffer_and_loses_the_rest() -> None:
    port = Cluster(2)["A"].port
    room = profile("test").receive_buffer_bytes
    first, second = b"a" * (room - 10), b"b" * 10
    port.keep(first, False)
    port.keep(second, True)
    port.keep(b"c", False)
    assert list(port.take_kept()) == [(first, False), (second, True)]
    port.keep(b"c", False)
    assert list(port.take_kept()) == [(b"c", False)]


def test_a_cast_goes_to_everybody_else_and_a_unicast_to_one() -> None:
    node = Cluster(3)["A"].node
    network = Network(Clock(), 0, Link())
    sent: list[tuple[str, str]] = []

    def note(sender: str, to: str, packet: Packet) -> bool:
        sent.append((sender, to))
        return True

    network.snares.append(note)
    port = Port(network, "sim", node)
    packet = Highest(node.group.outgoing.channel, node.view.id, 0, 0)
    port.cast(Cast(packet))
    port.unicast(Unicast(node.view.members[2], packet))
    assert sent == [("A", "B"), ("A", "C"), ("A", "C")]
