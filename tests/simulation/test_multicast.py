"""The reliable multicast in the simulated world: scenarios P of the collection, and their neighbours."""

import pytest

from ringcast.core import Channel, Deliver
from ringcast.model import MS, SECOND, profile
from ringcast.sim import Cluster, FrameRule, Link, drop
from ringcast.sim.application import Outbound
from simulation.judging import assert_held


def numbered(name: str, count: int, size: int = 0) -> list[bytes]:
    return [f"{name}{number}".encode().ljust(size, b".") for number in range(1, count + 1)]


def settle(cluster: Cluster, limit_ns: int = 60 * SECOND) -> None:
    assert cluster.run_until(cluster.is_settled, limit_ns), "nothing may wait for ever"


@pytest.mark.parametrize("multicasts", [False, True])
def test_p01_three_peers_and_two_senders_deliver_six_thousand_in_fifo_order(multicasts: bool) -> None:
    cluster = Cluster(3, seed=1, multicasts=multicasts)
    for name in "AB":
        cluster.send(name, *numbered(name, 1000))
    settle(cluster)
    for reader in "ABC":
        for name in "AB":
            assert cluster.read(reader, name) == numbered(name, 1000)
    assert_held(cluster, "G1", "G2", "G3")


@pytest.mark.parametrize("seqno", [1, 2, 3, 4, 5])
def test_p02_a_message_that_is_dropped_twice_arrives_in_its_place(seqno: int) -> None:
    cluster = Cluster(3, seed=2)
    caught = FrameRule(cluster.network, drop, "data", "A", "*", times=4, seqno=seqno)
    for payload in numbered("A", 5):
        cluster.send("A", payload)
    settle(cluster)
    assert caught.caught == 4
    for reader in "ABC":
        assert cluster.read(reader, "A") == numbered("A", 5)
    assert_held(cluster, "G1", "G2", "G3")


@pytest.mark.parametrize("seed", range(5))
def test_p04_every_order_of_arrival_with_copies_gives_each_message_once(seed: int) -> None:
    shuffling = Link(jitter_ns=200 * MS, duplicate=0.8)
    cluster = Cluster(3, seed=f"P04/{seed}", link=shuffling)
    for payload in numbered("A", 50):
        cluster.send("A", payload)
    for payload in numbered("B", 50):
        cluster.send("B", payload)
    settle(cluster)
    for reader in "ABC":
        for name in "AB":
            assert cluster.read(reader, name) == numbered(name, 50)
    assert_held(cluster, "G1", "G2", "G3")


def test_p06_ten_thousand_messages_arrive_although_a_tenth_is_lost_both_ways() -> None:
    cluster = Cluster(2, seed=6, link=Link(loss=0.1), config=profile("lan", capacity=1024))
    expected = numbered("A", 10_000, size=1000)
    cluster.send("A", *expected)
    settle(cluster, 600 * SECOND)
    assert cluster.read("B", "A") == expected
    assert_held(cluster, "G1", "G2", "G3")


@pytest.mark.parametrize("multicasts", [False, True])
def test_loss_duplication_and_reordering_together_change_nothing(multicasts: bool) -> None:
    rough = Link(loss=0.1, duplicate=0.01, reorder=0.2, reorder_ns=15 * MS, jitter_ns=2 * MS)
    cluster = Cluster(4, seed=7, link=rough, multicasts=multicasts)
    for name in "ABCD":
        for payload in numbered(name, 300):
            cluster.send(name, payload)
    settle(cluster)
    for reader in "ABCD":
        for name in "ABCD":
            assert cluster.read(reader, name) == numbered(name, 300)
    assert_held(cluster, "G1", "G2", "G3")


def test_p08_the_first_transmission_of_the_last_five_is_lost_and_then_there_is_silence() -> None:
    cluster = Cluster(2, seed=8)
    for seqno in range(6, 11):
        FrameRule(cluster.network, drop, "data", "A", "B", times=1, seqno=seqno)
    for payload in numbered("A", 10):
        cluster.send("A", payload)
    assert cluster.run_until(lambda: len(cluster.read("B", "A")) == 10, limit_ns=20 * SECOND)
    assert cluster.read("B", "A") == numbered("A", 10)


@pytest.mark.parametrize("tails", [0, 1, 2, 5])
def test_p09_the_last_message_arrives_although_announcements_of_it_are_lost_too(tails: int) -> None:
    cluster = Cluster(2, seed=9)
    FrameRule(cluster.network, drop, "data", "A", "B", times=1, seqno=3)
    if tails:
        FrameRule(cluster.network, drop, "highest", "A", "B", tails)
    for payload in numbered("A", 3):
        cluster.send("A", payload)
    settle(cluster)
    assert cluster.read("B", "A") == numbered("A", 3)
    assert cluster.clock.now_ns < (tails + 5) * 10 * MS + 100 * MS


def test_a_lost_last_ack_is_repaired_and_the_sender_becomes_idle() -> None:
    cluster = Cluster(2, seed=10)
    FrameRule(cluster.network, drop, "ack", "B", "A", 3)
    cluster.send("A", b"only one")
    settle(cluster)
    assert cluster["A"].node.group.outgoing.window.low == 1
    assert_held(cluster, "G1", "G3")


@pytest.mark.parametrize("count", [127, 128, 129, 200])
def test_p10_without_self_delivery_the_sender_gets_nothing_and_its_peer_everything(count: int) -> None:
    cluster = Cluster(2, seed=11, config=profile("test", capacity=128, self_delivery=False))
    cluster.send("A", *numbered("A", count))
    settle(cluster)
    assert cluster.read("A", "A") == []
    assert cluster.read("B", "A") == numbered("A", count)
    assert_held(cluster, "G1", "G2", "G3")


def test_p13_closing_ends_a_send_that_waits_for_silent_peers() -> None:
    cluster = Cluster(4, seed=12, config=profile("test", capacity=5))
    cluster.network.cut([("A", peer) for peer in "BCD"])
    cluster.send("A", *numbered("A", 10))
    cluster.run_for(1 * SECOND)
    assert len(cluster.application("A").outbox) == 5, "exactly capacity messages fit"
    assert len(cluster["A"].group.waiting()) == 1
    cluster.close("A")
    assert cluster["A"].group.waiting() == [] and cluster["A"].is_over


@pytest.mark.parametrize("capacity", [1, 7, 64, 1000])
def test_p19_a_single_member_reads_a_thousand_of_its_own_in_order(capacity: int) -> None:
    cluster = Cluster(1, seed=13, config=profile("test", capacity=capacity))
    cluster.send("A", *numbered("A", 1000))
    settle(cluster)
    assert cluster.read("A", "A") == numbered("A", 1000)
    assert_held(cluster, "G1", "G2", "G3")


@pytest.mark.parametrize("self_delivery", [False, True])
@pytest.mark.parametrize("capacity", [1, 2, 16])
def test_x9_a_group_of_one_never_blocks(capacity: int, self_delivery: bool) -> None:
    cluster = Cluster(1, seed=14, config=profile("test", capacity=capacity, self_delivery=self_delivery))
    cluster.send("A", *numbered("A", 10 * capacity))
    assert not cluster.application("A").outbox
    assert cluster.clock.now_ns == 0, "no time has to pass"


def test_p22_a_private_message_before_and_after_a_run_arrives_once() -> None:
    cluster = Cluster(2, seed=15, link=Link(duplicate=1.0))
    cluster.send("A", b"before", to=["B"])
    cluster.send("A", *numbered("A", 20))
    cluster.send("A", b"after", to=["B"])
    settle(cluster)
    assert cluster.read("B", "A") == numbered("A", 20)
    assert cluster.read_private("B", "A") == [b"before", b"after"]


@pytest.mark.parametrize("frame_bytes", [6000, 60_000])
def test_p23_ten_large_messages_leave_every_window_at_the_same_mark(frame_bytes: int) -> None:
    cluster = Cluster(3, seed=16, config=profile("test", self_delivery=False, frame_bytes=frame_bytes))
    FrameRule(cluster.network, drop, "data", "A", "B", 1)
    cluster.send("A", *numbered("A", 10, size=5000))
    settle(cluster)
    cluster.run_for(2 * MS)
    sender = cluster["A"].node.group.outgoing.window
    assert (sender.low, sender.high) == (10, 10)
    for name in "BC":
        window = cluster[name].node.group.incoming[cluster.address("A")].window
        assert (window.freed, window.handed, window.highest) == (10, 10, 10), "the emptied sender tells its low"


@pytest.mark.parametrize("seqno", [1, 3, 5])
@pytest.mark.parametrize("kind", ["stream", "*"])
def test_p25_the_first_or_the_last_message_of_a_stream_is_lost_and_arrives_all_the_same(seqno: int, kind: str) -> None:
    cluster = Cluster(2, seed=17)
    FrameRule(cluster.network, drop, kind, "A", "B", times=2, seqno=seqno)
    for payload in numbered("A", 5):
        cluster.send("A", payload, to=["B"])
    assert cluster.run_until(lambda: len(cluster.read_private("B", "A")) == 5, limit_ns=10 * SECOND)
    assert cluster.read_private("B", "A") == numbered("A", 5)
    settle(cluster)
    assert_held(cluster, "G1", "G2", "G3")


def test_p25_every_packet_of_the_first_three_intervals_is_lost() -> None:
    cluster = Cluster(2, seed=18)
    cluster.network.cut([("A", "B")])
    cluster.send("A", b"first ever", to=["B"])
    cluster.run_for(30 * MS)
    cluster.network.mend_all()
    settle(cluster)
    assert cluster.read_private("B", "A") == [b"first ever"]


@pytest.mark.parametrize("to", [[], ["B", "C"]])
def test_p26_what_was_sent_counts_as_delivered_only_when_all_have_it(to: list[str]) -> None:
    """P26, the core's part: a flush may return when `low` has reached what was sent."""
    cluster = Cluster(3, seed=19)
    FrameRule(cluster.network, drop, "*", "A", "C", 1)
    cluster.send("A", b"x", to=to)

    def lows() -> list[int]:
        node = cluster["A"].node
        streams = list(node.peers.outgoing.values()) if to else [node.group.outgoing]
        return [stream.window.low for stream in streams]

    cluster.run_until(lambda: all(low == 1 for low in lows()))
    read = cluster.read_private if to else cluster.read
    assert read("B", "A") == read("C", "A") == [b"x"]


def test_x3_a_send_that_found_no_room_has_taken_no_seqno() -> None:
    """X3, the core's part: the message that waits is not in the window; taking it back leaves no hole."""
    cluster = Cluster(2, seed=20, config=profile("test", capacity=4))
    cluster.read_every("B", None)
    cluster.send("A", *numbered("A", 5))
    cluster.run_for(100 * MS)
    assert cluster["A"].node.group.outgoing.window.high == 4
    cluster.application("A").take_back()
    cluster.send("A", b"instead")
    cluster.read_every("B", 0)
    settle(cluster)
    assert cluster.read("B", "A") == [*numbered("A", 4), b"instead"]
    assert_held(cluster, "G1", "G2", "G3")


@pytest.mark.parametrize("capacity", [1, 2, 3, 64])
def test_the_smallest_windows_still_move(capacity: int) -> None:
    cluster = Cluster(3, seed=21, config=profile("test", capacity=capacity), link=Link(loss=0.1, reorder=0.1))
    for name in "ABC":
        cluster.send(name, *numbered(name, 20 * capacity))
    settle(cluster, 600 * SECOND)
    for reader in "ABC":
        for name in "ABC":
            assert cluster.read(reader, name) == numbered(name, 20 * capacity)
    assert_held(cluster, "G1", "G2", "G3")


def test_members_with_different_capacities_agree_on_the_smallest() -> None:
    configs = {"A": profile("test", capacity=100), "B": profile("test", capacity=3)}
    cluster = Cluster(["A", "B"], seed=22, configs=configs)
    cluster.read_every("B", None)
    cluster.send("A", *numbered("A", 10))
    cluster.run_for(100 * MS)
    assert cluster["A"].node.group.outgoing.window.high == 3
    cluster.read_every("B", 0)
    settle(cluster)
    assert cluster.read("B", "A") == numbered("A", 10)
    assert_held(cluster, "G2")


def test_a_reader_that_stops_holds_the_sender_back_within_bounds_and_then_everything_goes_on() -> None:
    cluster = Cluster(3, seed=23, config=profile("test", capacity=16))
    cluster.read_every("C", None)
    cluster.send("A", *numbered("A", 100))
    cluster.run_for(5 * SECOND)
    assert cluster["A"].node.group.outgoing.window.occupancy == 16
    assert cluster["A"].node.group.outgoing.acks.laggards() == [cluster.address("C")]
    inbox = cluster["C"].driver.inbox
    assert sum(len(delivery.payloads) for delivery in inbox if isinstance(delivery, Deliver)) == 16
    assert len(cluster.read("B", "A")) == 16
    cluster.read_every("C", 0)
    settle(cluster)
    assert cluster.read("C", "A") == numbered("A", 100)
    assert_held(cluster, "G1", "G2", "G3")


def test_a_sender_that_does_not_read_its_own_messages_waits_for_itself() -> None:
    cluster = Cluster(2, seed=24, config=profile("test", capacity=16))
    cluster.read_every("A", None)
    cluster.send("A", *numbered("A", 50))
    cluster.run_for(5 * SECOND)
    node = cluster["A"].node
    assert (node.group.own_unread, node.space().slots) == (16, 0)
    assert node.group.outgoing.window.occupancy == 0, "the others have it all: only its own reader is behind"
    cluster.read_every("A", 0)
    settle(cluster)
    assert cluster.read("A", "A") == cluster.read("B", "A") == numbered("A", 50)


def test_a_slow_reader_sets_the_pace() -> None:
    cluster = Cluster(2, seed=25, config=profile("test", capacity=4))
    cluster.read_every("B", 50 * MS)
    for payload in numbered("A", 40):
        cluster.send("A", payload)
    settle(cluster)
    assert cluster.read("B", "A") == numbered("A", 40)
    assert cluster.clock.now_ns > 9 * 50 * MS
    assert_held(cluster, "G1", "G2", "G3")


def test_the_byte_cap_binds_the_sender_and_one_message_always_fits() -> None:
    cluster = Cluster(2, seed=26, config=profile("test", window_bytes=1000))
    cluster.read_every("B", None)
    cluster.send("A", b"x" * 600, b"y" * 400, b"z", b"w" * 5000)
    cluster.run_for(100 * MS)
    assert cluster["A"].node.group.outgoing.window.bytes == 1000
    assert len(cluster.application("A").outbox) == 2
    cluster.read_every("B", 0)
    settle(cluster)
    assert list(map(len, cluster.read("B", "A"))) == [600, 400, 1, 5000]


@pytest.mark.parametrize("over", [-1, 0, 1, 100, 188, 190, 191, 192, 500])
def test_a_large_message_arrives_whole_whatever_the_length_of_its_last_piece(over: int) -> None:
    """A short last piece once shared a frame with the one before it, and the message ran into the next."""
    cluster = Cluster(3, seed=27, link=Link(loss=0.2))
    whole = cluster["A"].node.largest_whole
    payloads = [b"a" * (whole + over), b"between", b"b" * (3 * whole + over), b""]
    cluster.send("A", *payloads)
    cluster.send("A", *payloads, to=["B", "C"])
    settle(cluster)
    for reader in "BC":
        assert cluster.read(reader, "A") == payloads
        assert cluster.read_private(reader, "A") == payloads
    assert cluster.read("A", "A") == payloads
    assert_held(cluster, "G1", "G2", "G3")


def test_a_message_above_the_limit_is_dropped_with_a_reason_and_the_stream_goes_on() -> None:
    configs = {"A": profile("test", max_message_bytes=100_000), "B": profile("test", max_message_bytes=4000)}
    cluster = Cluster(["A", "B"], seed=28, configs=configs)
    payloads = [b"before", b"x" * 4001, b"y" * 4000, b"after"]
    cluster.send("A", *payloads)
    cluster.send("A", *payloads, to=["B"])
    settle(cluster)
    expected = [b"before", b"y" * 4000, b"after"]
    assert cluster.read("B", "A") == cluster.read_private("B", "A") == expected
    assert cluster["B"].driver.drops["a message above max_message_bytes"] == 2
    assert_held(cluster, "G1", "G2", "G3")


def test_frames_are_never_longer_than_allowed_even_with_the_longest_names() -> None:
    """The simulated member asserts the length of every frame that it sends."""
    names = ["ä" * 32, "z" * 64, "m" * 63]
    cluster = Cluster(names, seed=29, link=Link(loss=0.3), config=profile("test", frame_bytes=1000))
    for name in names:
        cluster.send(name, *[b"x" * size for size in (*range(200), 5000, 700)])
    settle(cluster, 120 * SECOND)
    for name in names:
        assert all(len(cluster.read(reader, name)) == 202 for reader in names)


def test_a_stopped_clock_of_the_network_is_waited_out() -> None:
    """A cut of ten seconds loses everything on its way; afterwards nothing is missing."""
    cluster = Cluster(3, seed=30)
    cluster.network.cut([("A", "B"), ("B", "A"), ("C", "B")])
    for name in "ABC":
        cluster.send(name, *numbered(name, 100))
    cluster.run_for(10 * SECOND)
    assert cluster.read("B", "A") == []
    cluster.network.mend_all()
    settle(cluster)
    for reader in "ABC":
        for name in "ABC":
            assert cluster.read(reader, name) == numbered(name, 100)
    assert_held(cluster, "G1", "G2", "G3")


def test_a_reply_sent_while_reading_goes_out() -> None:
    cluster = Cluster(2, seed=31)
    bob = cluster.application("B")
    bob.on_message = lambda sender, payload: (
        bob.put(Outbound(b"re: " + payload, (sender,))) if payload.startswith(b"A") else None
    )
    cluster.send("A", *numbered("A", 100))
    settle(cluster)
    assert cluster.read_private("A", "B") == [b"re: " + payload for payload in numbered("A", 100)]


def test_streams_and_multicasts_do_not_wait_for_each_other() -> None:
    cluster = Cluster(3, seed=32, config=profile("test", capacity=4))
    cluster.read_every("C", None)
    cluster.send("A", *numbered("A", 4))
    cluster.run_for(50 * MS)
    cluster.send("A", b"private", to=["B"])
    cluster.run_for(50 * MS)
    assert cluster.read_private("B", "A") == [b"private"]
    assert cluster["A"].node.space().slots == 0
    assert all(stream.channel is Channel.PEER for stream in cluster["A"].node.peers.outgoing.values())
