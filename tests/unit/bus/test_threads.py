"""Threads on one bus: one order for all, waiters are woken, one peer may serve several threads."""

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest

from ringcast.bus import BusUnusable, BusWaitExpired, Detached, LocalBus, Message, Peer, PeerLeft, SharedBus

Bus = LocalBus | SharedBus


def collect(peer: Peer, count: int) -> list[Message]:
    got: list[Message] = []
    while len(got) < count:
        items = peer.dequeue_many(timeout=30)
        assert items, f"{len(got)} of {count} came"
        got += [item for item in items if isinstance(item, Message)]
    return got


def test_three_peers_ten_threads_fifty_messages_each_one_order_o01(bus: Bus) -> None:
    peers = [bus.attach(name) for name in "abc"]

    def send(thread: int) -> None:
        for i in range(50):
            peers[thread % 3].queue(b"%d:%d" % (thread, i), to=("a", "b", "c"))

    with ThreadPoolExecutor(13) as pool:
        reading = [pool.submit(collect, peer, 500) for peer in peers]
        for sending in [pool.submit(send, thread) for thread in range(10)]:
            sending.result()
        seen = [task.result() for task in reading]
    assert seen[0] == seen[1] == seen[2]
    for thread in range(10):
        own = [m.payload for m in seen[0] if m.payload.startswith(b"%d:" % thread)]
        assert own == [b"%d:%d" % (thread, i) for i in range(50)]


def test_a_reader_that_sleeps_is_woken(bus: Bus) -> None:
    a, b = bus.attach("a"), bus.attach("b")
    with ThreadPoolExecutor(1) as pool:
        for i in range(20):
            reading = pool.submit(b.dequeue, timeout=30)
            a.queue(str(i).encode(), to="b")
            assert isinstance(item := reading.result(), Message) and item.payload == str(i).encode()


def test_a_sender_that_waits_for_room_is_woken(bus: Bus) -> None:
    a, b = bus.attach("a"), bus.attach("b")
    with ThreadPoolExecutor(1) as pool:
        sending = pool.submit(a.queue_many, [b"x" * 1000] * 200, to="b")
        assert len(collect(b, 200)) == 200
        sending.result()


def test_detaching_in_one_thread_ends_the_wait_of_another(bus: Bus) -> None:
    a = bus.attach("a")
    with ThreadPoolExecutor(1) as pool:
        started = threading.Event()

        def read() -> object:
            started.set()
            return a.dequeue(timeout=30)

        reading = pool.submit(read)
        started.wait()
        a.detach()
        with pytest.raises(Detached):
            reading.result()


def test_waiting_for_a_peer_ends_when_it_attaches_or_in_time(bus: Bus) -> None:
    a = bus.attach("a")
    with pytest.raises(BusWaitExpired, match=r"peer 'a': nobody has attached as 'late': waited 0\.02 s"):
        a.wait_for("late", timeout=0.02)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(a.wait_for, "late", timeout=30)
        late = bus.attach("late")
        waiting.result()
    assert late.names() == ["a", "late"]


def test_dequeued_before_queued_is_respected_o15(bus: Bus) -> None:
    """P1 to P2 and P3; P2, on receipt, to P3: P3 sees them in that order, every time."""
    p1, p2, p3 = (bus.attach(name) for name in ("p1", "p2", "p3"))
    rounds = 200

    def answer() -> None:
        for _ in range(rounds):
            item = p2.dequeue(timeout=30)
            assert isinstance(item, Message)
            p2.queue(b"answer to " + item.payload, to="p3")

    with ThreadPoolExecutor(2) as pool:
        answering = pool.submit(answer)
        reading = pool.submit(collect, p3, 2 * rounds)
        for i in range(rounds):
            p1.queue(str(i).encode(), to=("p2", "p3"))
        answering.result()
        seen = [m.payload for m in reading.result()]
    for i in range(rounds):
        assert seen.index(str(i).encode()) < seen.index(b"answer to %d" % i)


def test_peers_come_and_go_while_others_talk(bus: Bus) -> None:
    keepers = [bus.attach("k1"), bus.attach("k2")]
    stop = threading.Event()

    def guest() -> int:
        visits = 0
        while not stop.is_set():
            with suppress(BusUnusable), bus.attach("guest") as peer:  # No slot: a keeper is behind with its reading.
                peer.queue(b"visit %d" % visits, to=("k1", "k2"))
                visits += 1
        return visits

    def listen(peer: Peer) -> list[object]:
        heard: list[object] = []
        while not heard or heard[-1] != b"end":
            item = peer.dequeue(timeout=30)
            heard.append(item.payload if isinstance(item, Message) else item)
        return heard

    with ThreadPoolExecutor(3) as pool:
        visiting, listening = pool.submit(guest), [pool.submit(listen, keeper) for keeper in keepers]
        for i in range(200):
            keepers[0].queue(b"talk %d" % i, to=("k1", "k2"))
        stop.set()
        visits = visiting.result()
        keepers[0].queue(b"end", to=("k1", "k2"))
        heard = [task.result() for task in listening]
    assert heard[0] == heard[1]
    assert sum(isinstance(item, PeerLeft) for item in heard[0]) == visits
