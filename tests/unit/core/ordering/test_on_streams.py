"""Envelopes on the streams of real groups: beside plain messages, in pieces, repaired; acks never pass the unread."""

from ringcast.core import Ack, Channel, Dequeue, Envelope, Packet, Piece, Run
from ringcast.model import MS, SECOND, Address, ViewId, profile
from ringcast.sim import Cluster, FrameRule, drop, hold
from ringcast.wire import Codec

A, B = (Address(name, 1, f"mem:{name}") for name in "AB")


def trio(**config: int) -> Cluster:
    return Cluster(3, seed=1, config=profile("test", **config))


def ordered(cluster: Cluster, name: str) -> list[bytes]:
    """What is delivered in the one order, read or not."""
    unread = [item for item in cluster[name].driver.inbox if isinstance(item, Dequeue)]
    return [payload for _, payload in cluster.application(name).ordered] + [p for item in unread for p in item.payloads]


def test_ordered_and_plain_messages_share_the_stream_and_arrive_apart() -> None:
    cluster = trio()
    cluster.send("B", b"plain")
    cluster.queue("B", b"ordered")
    cluster.run_for(100 * MS)
    assert ordered(cluster, "A") == ordered(cluster, "C") == [b"ordered"]
    assert cluster.read("A", "B") == [b"plain"]


def test_an_ack_does_not_pass_a_plain_message_that_is_not_read() -> None:
    cluster = trio(ack_every=1)
    acks: list[Ack] = []

    def note(sender: str, to: str, packet: Packet) -> bool:
        if (sender, to) == ("A", "B") and isinstance(packet, Ack) and packet.channel is Channel.GROUP:
            acks.append(packet)
        return False

    cluster.network.snares.append(note)
    cluster.read_every("A", None)
    cluster.send("B", b"plain")
    cluster.queue("B", b"ordered")
    cluster.run_for(100 * MS)
    assert ordered(cluster, "A") == [b"ordered"]
    assert cluster["A"].node.group.incoming[cluster.address("B")].window.taken == 0
    assert all(ack.upto == 0 for ack in acks)
    cluster.read_every("A", 0)
    cluster.run_for(100 * MS)
    assert acks[-1].upto == 2


def test_a_large_ordered_message_travels_in_pieces_and_comes_back_whole() -> None:
    cluster = trio()
    large = bytes(range(256)) * 30
    cluster.queue("C", large)
    cluster.queue("C", large[::-1], to="A")
    cluster.run_for(100 * MS)
    assert ordered(cluster, "A") == [large, large[::-1]] and ordered(cluster, "B") == [large]


def test_what_was_lost_is_repaired_in_runs_of_one_kind() -> None:
    cluster = trio()
    lost = FrameRule(cluster.network, drop, "data", "B", "*")
    for number in range(3):
        cluster.send("B", b"plain")
        cluster.run_for(0)
        cluster.queue("B", str(number).encode())
        cluster.run_for(0)
    runs = cluster["B"].node.group.outgoing.on_request(cluster.address("C"), ((1, 6),))
    assert [{type(item) for item in run.items} for run in runs] == [{bytes}, {Envelope}] * 3
    lost.end()
    cluster.run_for(SECOND)
    assert ordered(cluster, "A") == ordered(cluster, "C") == [b"0", b"1", b"2"]


def test_frames_say_what_their_items_are() -> None:
    codec = Codec("g", A)
    for items in ([b"plain"], [Envelope(b"one"), Envelope(b"two")], [Piece(b"piece")]):
        run = Run(Channel.GROUP, ViewId(1, A), A, 1, 0, items, sum(map(len, items)))
        decoded = Codec("g", B).decode(codec.encode(run))
        assert isinstance(decoded, tuple)
        assert [type(item) for item in decoded[1].items] == [type(item) for item in items]  # type: ignore[union-attr]


def test_a_full_window_holds_an_announcement_back_and_lets_it_go_with_the_next_ack() -> None:
    cluster = trio(capacity=1, ack_every=1)
    for name in "BC":
        cluster.read_every(name, None)
    cluster.send("A", b"fills the window")
    cluster.queue("B", b"x")
    cluster.run_for(100 * MS)
    assert ordered(cluster, "C") == []
    for name in "BC":
        cluster.read_every(name, 0)
    cluster.run_for(100 * MS)
    assert ordered(cluster, "C") == ordered(cluster, "A") == [b"x"]


def test_a_lost_batch_is_staged_after_its_repair() -> None:
    cluster = trio()
    lost = FrameRule(cluster.network, drop, "data", "B", "C")
    cluster.queue("B", b"x")
    cluster.run_for(5 * MS)
    assert lost.caught and not ordered(cluster, "A")
    lost.end()
    cluster.run_for(SECOND)
    assert ordered(cluster, "A") == ordered(cluster, "C") == [b"x"]


def test_one_senders_messages_are_read_in_its_order_whatever_their_destinations() -> None:
    """The first waits for D; the second, which D does not get, must not overtake it."""
    cluster = Cluster(4, seed=1)
    late = FrameRule(cluster.network, hold, "stream", "B", "D")
    cluster.queue("B", b"first", to="CD")
    cluster.queue("B", b"second", to="C")
    cluster.run_for(100 * MS)
    assert late.caught and ordered(cluster, "C") == ordered(cluster, "D") == []
    late.end()
    cluster.run_for(100 * MS)
    assert ordered(cluster, "C") == [b"first", b"second"] and ordered(cluster, "D") == [b"first"]


def test_a_lost_ack_of_staged_messages_is_said_again() -> None:
    cluster = trio()
    lost = FrameRule(cluster.network, drop, "staged", "C", "A", times=1)
    cluster.queue("B", b"x")
    cluster.run_for(5 * MS)
    assert lost.is_over and not ordered(cluster, "A")
    cluster.run_for(100 * MS)
    assert ordered(cluster, "A") == ordered(cluster, "C") == [b"x"]


def test_a_sender_waits_for_the_announcement_that_others_have() -> None:
    cluster = trio()
    late = FrameRule(cluster.network, hold, "data", "A", "B")
    cluster.queue("B", b"x")
    cluster.run_for(100 * MS)
    assert ordered(cluster, "A") == ordered(cluster, "C") == [b"x"]
    assert cluster["B"].node.order.ordering.in_flight.count == 1 and not cluster.application("B").is_idle
    late.end()
    cluster.run_for(100 * MS)
    assert ordered(cluster, "B") == [b"x"] and cluster.application("B").is_idle


def test_who_does_not_read_holds_the_others_back_until_it_reads() -> None:
    cluster = Cluster(2, seed=1, config=profile("test", capacity=8))
    a, b = (cluster[name].node.order.ordering for name in "AB")
    cluster.read_every("A", None)
    cluster.queue("B", *[b"x"] * 8)
    cluster.run_for(SECOND)
    assert ordered(cluster, "A") == [b"x"] * 8 and not a.may_queue and b.may_queue
    cluster.queue("B", b"one more")
    cluster.run_for(SECOND)
    assert b.in_flight.count == 1 and a.awaited() == [A]  # A has not acked it: too much is unread.
    cluster.read_every("A", 0)
    cluster.run_for(SECOND)
    assert b.in_flight.count == 0 and ordered(cluster, "A")[8:] == [b"one more"]
