"""Whatever peers say, the node neither raises nor breaks an invariant: it answers, drops, or says that it is lost."""

from hypothesis import given
from hypothesis import strategies as st

from ringcast.core import Ack, Channel, Deliver, Effect, Highest, Node, Packet, Piece, Request, Reset, Run, Unrepairable
from ringcast.model import Address, ViewId, profile
from unit.core.multicast.nodes import NOW, STRANGER, VIEW, A, B, C, node

senders = st.sampled_from([B, C, STRANGER, A])
numbers = st.one_of(st.integers(0, 12), st.sampled_from([63, 64, 65, 2**31, 2**63 - 1]))
streams = st.one_of(
    st.tuples(st.just(Channel.GROUP), st.sampled_from([VIEW.id, ViewId(0, A), ViewId(9, B)])),
    st.tuples(st.just(Channel.PEER), st.integers(1, 3)),
)


@st.composite
def runs(draw: st.DrawFn) -> Run:
    channel, tag = draw(streams)
    items: list[bytes] = draw(st.lists(st.just(b"x"), min_size=1, max_size=9))
    if draw(st.integers(0, 3)) == 0:
        items = [Piece(b"piece")]
    low = draw(numbers)
    return Run(channel, tag, draw(senders), low + draw(st.integers(1, 70)), low, items, len(items))


def ordered(stream: tuple[Channel, object], a: int, b: int) -> Highest:
    return Highest(*stream, max(a, b), min(a, b))  # type: ignore[arg-type]


packets: st.SearchStrategy[Packet] = st.one_of(
    runs(),
    st.builds(lambda stream, upto: Ack(*stream, upto), streams, numbers),
    st.builds(ordered, streams, numbers, numbers),
    st.builds(
        lambda stream, origin, pairs: Request(*stream, origin, tuple((min(p) + 1, max(p) + 1) for p in pairs)),
        streams,
        senders,
        st.lists(st.tuples(numbers, numbers), min_size=1, max_size=4),
    ),
    st.builds(lambda stream, low: Unrepairable(*stream, low), streams, numbers),
    st.builds(lambda stream: Reset(*stream), streams),
)
steps = st.lists(st.tuples(senders, packets, st.integers(0, 3)), max_size=40)


class Driven:
    """A node with an application that reads some of the time."""

    def __init__(self, driven: Node) -> None:
        self.node = driven
        self.unread: list[Deliver] = []
        self.now_ns = NOW

    def note(self, effects: list[Effect]) -> None:
        self.node.check()
        self.unread += [effect for effect in effects if isinstance(effect, Deliver)]

    def do(self, what: int) -> None:
        if what == 1 and self.unread:
            self.note(self.node.on_taken(self.now_ns, self.unread.pop(0)))
        elif what == 2 and self.node.space().fit([5, 5]) == 2:
            self.note(self.node.send(self.now_ns, [b"hello", b"world"], [5, 5]))
        elif what == 3:
            self.now_ns = max(self.now_ns, self.node.deadline_ns() or 0)
            self.note(self.node.on_time(self.now_ns))


@given(steps, st.booleans())
def test_any_packets_in_any_order_break_no_invariant(
    story: list[tuple[Address, Packet, int]], multicasts: bool
) -> None:
    driven = Driven(node(config=profile("test", capacity=8, stream_capacity=4), multicasts=multicasts))
    for sender, packet, what in story:
        driven.note(driven.node.on_packet(driven.now_ns, sender, packet))
        driven.do(what)


@given(steps)
def test_the_same_facts_give_the_same_effects(story: list[tuple[Address, Packet, int]]) -> None:
    """Nothing but its inputs decides what a node does."""
    one, two = node(), node()
    for sender, packet, _ in story:
        assert one.on_packet(NOW, sender, packet) == two.on_packet(NOW, sender, packet)
