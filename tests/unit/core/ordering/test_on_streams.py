"""Envelopes on the streams of real nodes: beside plain messages, in pieces, repaired; acks never pass the unread."""

from ringcast.core import Ack, Channel, Deliver, Dequeue, Envelope, Node, Piece, Run, Unicast
from ringcast.core.effects import Cast, Effect
from ringcast.model import Address, View, ViewId, profile
from ringcast.wire import Codec
from unit.core.multicast.nodes import only

A, B, C = (Address(name, 1, f"mem:{name}") for name in "ABC")
VIEW = View(ViewId(1, A), (A, B, C))
NOW = 1_000


class Trio:
    """Three nodes whose packets go through the codec; the test says which are lost."""

    def __init__(self, **config: int) -> None:
        self.nodes = {me: Node(me, profile("test", **config), VIEW) for me in VIEW.members}
        self.inbox: dict[Address, list[Deliver]] = {me: [] for me in VIEW.members}
        self.codecs = {me: Codec("g", me) for me in VIEW.members}

    def do(self, me: Address, effects: list[Effect], lose: tuple[Address, ...] = ()) -> None:
        for effect in [*effects, *self.nodes[me].flush(NOW)]:
            if isinstance(effect, Deliver):
                self.inbox[me].append(effect)
            elif isinstance(effect, Cast):
                for to in VIEW.members:
                    if to not in (me, *lose):
                        self.arrive(me, to, self.codecs[me].encode(effect.packet))
            elif isinstance(effect, Unicast) and effect.to not in lose:
                self.arrive(me, effect.to, self.codecs[me].encode(effect.packet, effect.to))

    def arrive(self, sender: Address, to: Address, frame: bytes) -> None:
        decoded = self.codecs[to].decode(frame)
        assert isinstance(decoded, tuple), decoded
        self.do(to, self.nodes[to].on_packet(NOW, *decoded))

    def queue(
        self, me: Address, *payloads: bytes, to: list[Address] | None = None, lose: tuple[Address, ...] = ()
    ) -> None:
        assert self.nodes[me].fit_in_order(list(map(len, payloads)), to)
        self.do(me, self.nodes[me].queue(NOW, list(payloads), to)[1], lose)

    def interval(self) -> None:
        for me, node in self.nodes.items():
            self.do(me, node.on_time(node.deadline_ns() or 0))

    def ordered(self, me: Address) -> list[bytes]:
        return [p for d in self.inbox[me] if isinstance(d, Dequeue) for p in d.payloads]


def test_ordered_and_plain_messages_share_the_stream_and_arrive_apart() -> None:
    trio = Trio()
    trio.do(B, trio.nodes[B].send(NOW, [b"plain"], [5]))
    trio.queue(B, b"ordered")
    assert trio.ordered(A) == trio.ordered(C) == [b"ordered"]
    assert [d.payloads for d in trio.inbox[A] if not isinstance(d, Dequeue)] == [[b"plain"]]


def test_an_ack_does_not_pass_a_plain_message_that_is_not_read() -> None:
    trio = Trio(ack_every=1)
    trio.do(B, trio.nodes[B].send(NOW, [b"plain"], [5]))
    trio.queue(B, b"ordered")
    assert trio.nodes[A].group.incoming[B].window.taken == 0
    plain = next(d for d in trio.inbox[A] if not isinstance(d, Dequeue))
    acks = only(Unicast, trio.nodes[A].on_taken(NOW, plain))
    assert acks == [Unicast(B, Ack(Channel.GROUP, VIEW.id, 2))]


def test_a_large_ordered_message_travels_in_pieces_and_comes_back_whole() -> None:
    trio = Trio()
    large = bytes(range(256)) * 30
    trio.queue(C, large)
    trio.queue(C, large[::-1], to=[A])
    assert trio.ordered(A) == [large, large[::-1]] and trio.ordered(B) == [large]


def test_what_was_lost_is_repaired_in_runs_of_one_kind() -> None:
    trio = Trio()
    for number in range(3):
        trio.do(B, trio.nodes[B].send(NOW, [b"plain"], [5]), lose=(A, C))
        trio.queue(B, str(number).encode(), lose=(A, C))
    runs = trio.nodes[B].group.outgoing.on_request(C, ((1, 6),))
    assert [{type(item) for item in run.items} for run in runs] == [{bytes}, {Envelope}] * 3
    for _ in range(4):
        trio.interval()
    assert trio.ordered(A) == trio.ordered(C) == [b"0", b"1", b"2"]


def test_frames_say_what_their_items_are() -> None:
    codec = Codec("g", A)
    for items in ([b"plain"], [Envelope(b"one"), Envelope(b"two")], [Piece(b"piece")]):
        run = Run(Channel.GROUP, VIEW.id, A, 1, 0, items, sum(map(len, items)))
        decoded = Codec("g", B).decode(codec.encode(run))
        assert isinstance(decoded, tuple)
        assert [type(item) for item in decoded[1].items] == [type(item) for item in items]  # type: ignore[union-attr]


def test_a_full_window_holds_an_announcement_back_and_lets_it_go_with_the_next_ack() -> None:
    trio = Trio(capacity=1, ack_every=1)
    trio.do(A, trio.nodes[A].send(NOW, [b"fills the window"], [16]))
    trio.queue(B, b"x")
    assert trio.ordered(C) == []
    for me in (B, C):
        for delivery in [d for d in trio.inbox[me] if not isinstance(d, Dequeue)]:
            trio.do(me, trio.nodes[me].on_taken(NOW, delivery))
    assert trio.ordered(C) == trio.ordered(A) == [b"x"]


def test_a_lost_batch_is_staged_after_its_repair() -> None:
    trio = Trio()
    trio.queue(B, b"x", lose=(C,))
    assert trio.nodes[B].deadline_ns() is not None
    assert not trio.ordered(A)
    for _ in range(3):
        trio.interval()
    assert trio.ordered(A) == trio.ordered(C) == [b"x"]
