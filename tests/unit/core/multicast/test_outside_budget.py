"""What is held for processes outside the view stays within one budget; members are not touched by it."""

from random import Random

from ringcast.core import Channel, Drop, Effect, Node, Piece, Run
from ringcast.core.multicast.outside_budget import OUTSIDE_BYTES, OutsideBudget
from ringcast.model import Address, profile
from ringcast.wire import decode_control, encode_control

NOW = 1_000
PART = 50_000


def stranger(number: int) -> Address:
    return Address(f"x{number}", 1, f"mem:x{number}")


def looking() -> Node:
    config = profile("test", frame_bytes=60_000)
    node = Node.joining(Address("A", 1, "mem:A"), config, Random("outside"), encode_control, decode_control)
    node.begin(NOW)
    return node


def held(node: Node) -> int:
    assert node.coordination is not None
    streams = (node.coordination.control.streams, node.coordination.state.streams)
    return sum(stream.held_bytes for one in streams for stream in one.incoming.values())


def part(sender: Address, channel: Channel, first: int, data: bytes = bytes(PART)) -> Run:
    return Run(channel, 1, sender, first, 0, [Piece(data)], len(data))


def reasons(effects: list[Effect]) -> list[str]:
    return [effect.reason for effect in effects if isinstance(effect, Drop)]


def test_unfinished_messages_of_strangers_are_shed_above_the_budget() -> None:
    node = looking()
    shed = 0
    for number in range(60):
        for first in range(1, 9):
            for channel in (Channel.CONTROL, Channel.STATE):
                effects = node.on_packet(NOW, stranger(number), part(stranger(number), channel, first))
                shed += sum("held too much" in reason for reason in reasons(effects))
        assert held(node) <= OUTSIDE_BYTES
    assert shed > 0
    node.check()


def test_what_a_process_outside_sends_out_of_order_is_kept_and_counts() -> None:
    """Dropped, a whole window of a joiner's state was requested message by message (seed 30747)."""
    node = looking()
    sender = stranger(1)
    for first in (1, 4, 3):
        assert reasons(node.on_packet(NOW, sender, part(sender, Channel.STATE, first))) == []
    assert node.coordination is not None
    window = node.coordination.state.streams.incoming[sender].window
    assert (window.ready, window.highest) == (1, 4)
    assert held(node) == node.coordination._outside.total == 3 * PART
    node.on_packet(NOW, sender, part(sender, Channel.STATE, 2))
    assert window.ready == 4 and held(node) == node.coordination._outside.total == 4 * PART


def test_what_strangers_send_behind_gaps_is_shed_above_the_budget() -> None:
    node = looking()
    shed = 0
    for number in range(60):
        for first in range(2, 9):
            effects = node.on_packet(NOW, stranger(number), part(stranger(number), Channel.STATE, first))
            shed += sum("held too much" in reason for reason in reasons(effects))
        assert held(node) <= OUTSIDE_BYTES
    assert shed > 0
    node.check()


def test_empty_pieces_take_no_memory() -> None:
    node = looking()
    sender = stranger(1)
    for first in range(1, 200):
        node.on_packet(NOW, sender, part(sender, Channel.CONTROL, first, b""))
    assert node.coordination is not None
    assembly = node.coordination.control.streams.incoming[sender]._assembly
    assert assembly._parts is not None and len(assembly._parts) == 1


def test_the_largest_goes_first_and_members_do_not_count() -> None:
    members: dict[Address, None] = {}
    budget = OutsideBudget(lambda peer: peer not in members, limit=100)
    gone: list[Address] = []
    a, b, c = map(stranger, range(3))
    assert budget.note(0, a, 60, gone.append) == []
    assert budget.note(1, b, 30, gone.append) == []
    assert budget.note(0, c, 20, gone.append) == [a] == gone
    assert budget.total == 50
    members[b] = None
    budget.on_view()
    assert budget.total == 20
    assert budget.note(0, c, 0, gone.append) == [] and budget.total == 0
