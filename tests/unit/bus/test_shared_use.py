"""Several threads on one peer: limits hold while another thread waits, and everything comes to one of them, once."""

import asyncio
import gc
import os
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest

from ringcast.bus import BusFull, BusUnusable, BusWaitExpired, LocalBus, Message, Peer, PeerLeft, SharedBus, doorbell

Bus = LocalBus | SharedBus
HANG_S = 20  # only to let a hanging call fail


@pytest.fixture
def hurried() -> Iterator[None]:
    """Threads are switched, and garbage is collected, as often as can be."""
    interval, threshold = sys.getswitchinterval(), gc.get_threshold()
    sys.setswitchinterval(1e-6)
    gc.set_threshold(1)
    yield
    sys.setswitchinterval(interval)
    gc.set_threshold(*threshold)


def fill(peer: Peer, to: str) -> None:
    with suppress(BusFull):
        while True:
            peer.queue(b"x" * 1000, to=to, policy="raise")


def test_who_may_not_wait_does_not_wait_for_another_thread_that_does(bus: Bus) -> None:
    a, b, c = (bus.attach(name) for name in "abc")
    fill(a, "b")
    with ThreadPoolExecutor(2) as pool:
        waiting = pool.submit(a.queue, b"waits" * 1000, to="b", timeout=HANG_S)
        while not waiting.running():
            pass
        try:
            for _ in range(20):  # until the other one surely waits
                with pytest.raises(BusFull):
                    pool.submit(a.queue, b"x" * 1000, to="b", policy="raise").result(HANG_S / 4)
                assert pool.submit(a.barrier, timeout=HANG_S).result(HANG_S / 4) == []
            pool.submit(a.queue, b"to another", to="c", policy="raise").result(HANG_S / 4)
            assert isinstance(item := c.dequeue(timeout=HANG_S), Message) and item.payload == b"to another"
        finally:
            while not waiting.done():
                b.dequeue_many(timeout=0.01)
        waiting.result()


def test_a_limit_is_kept_while_another_thread_waits_longer(bus: Bus) -> None:
    a, _ = bus.attach("a"), bus.attach("b")
    fill(a, "b")
    with ThreadPoolExecutor(2) as pool:
        waiting = pool.submit(a.queue, b"x" * 1000, to="b", timeout=0.2)
        with pytest.raises(BusWaitExpired):
            pool.submit(a.queue, b"x" * 1000, to="b", timeout=0.01).result(HANG_S / 4)
        with pytest.raises(BusWaitExpired):
            waiting.result()


def test_each_message_and_each_notice_comes_to_one_of_the_threads_once(bus: Bus, hurried: None) -> None:
    keeper = bus.attach("keeper")
    visits, threads = 60, 3
    heard: list[list[object]] = [[] for _ in range(threads)]

    def listen(thread: int) -> None:
        took = heard[thread]
        while not took or took[-1] != b"end":
            for item in keeper.dequeue_many(3, timeout=HANG_S) if thread else [keeper.dequeue(timeout=HANG_S)]:
                took.append(item if isinstance(item, PeerLeft) else item.payload)

    with ThreadPoolExecutor(threads) as pool:
        listening = [pool.submit(listen, thread) for thread in range(threads)]
        visit = 0
        while visit < visits:
            with suppress(BusUnusable), bus.attach("guest") as guest:
                guest.queue_many([b"%d:%d" % (visit, i) for i in range(5)], to="keeper")
                visit += 1
        sender = None
        while sender is None:  # Until the notices of the guests were read, their slots are not free.
            with suppress(BusUnusable):
                sender = bus.attach("sender")
        while not all(task.done() for task in listening):
            with suppress(BusFull):
                sender.queue(b"end", to="keeper", policy="raise")
        for task in listening:
            task.result()
    counted = Counter(item for took in heard for item in took if item != b"end")
    assert set(counted.values()) == {1}
    assert sum(isinstance(item, PeerLeft) for item in counted) == visits
    assert sum(isinstance(item, bytes) for item in counted) == 5 * visits


def test_each_message_comes_to_one_of_the_threads_once_as_runs(shared: SharedBus, hurried: None) -> None:
    keeper = shared.attach("keeper")
    sender = shared.attach("sender")
    count, taken = 3000, Counter[int]()
    lock = threading.Lock()

    def read() -> None:
        while not taken[-1]:
            for run in keeper.dequeue_runs(7, timeout=HANG_S):
                assert not isinstance(run, PeerLeft)
                with lock:
                    taken.update(map(int, run.payloads))

    with ThreadPoolExecutor(3) as pool:
        reading = [pool.submit(read) for _ in range(3)]
        for first in range(0, count, 50):
            sender.queue_many([b"%d" % number for number in range(first, first + 50)], to="keeper")
        while not all(task.done() for task in reading):
            with suppress(BusFull):
                sender.queue(b"-1", to="keeper", policy="raise")
        for task in reading:
            task.result()
    assert {number: times for number, times in taken.items() if number >= 0} == dict.fromkeys(range(count), 1)


def test_a_bell_is_armed_when_its_fifo_is_there(shared: SharedBus, monkeypatch: pytest.MonkeyPatch) -> None:
    """A killed owner of the slot left its FIFO behind. A sender between arming and making ours must not keep that."""
    monkeypatch.setattr(doorbell, "WATCH_S", 1e6)  # A lost bell is not made good by looking again.
    a, b = shared.attach("a"), shared.attach("b")
    os.mkfifo(f"{b._file.fifo_prefix}{b._slot}")
    take, looks = b.dequeue_many, 0

    def look(limit: int = 1024, *, timeout: float | None = None) -> list[Message | PeerLeft]:
        nonlocal looks
        looks += 1
        found = take(limit, timeout=timeout)
        if looks == 2:  # behind the arming, before the wait
            a.queue(b"first", to="b")
        return found

    monkeypatch.setattr(b, "dequeue_many", look)

    async def read() -> list[bytes]:
        got = []
        for payload in (b"second", b"third", None):
            item = await asyncio.wait_for(b.adequeue(), HANG_S / 4)
            assert isinstance(item, Message)
            got.append(item.payload)
            if payload is not None:
                asyncio.get_running_loop().call_later(0.01, lambda sent=payload: a.queue(sent, to="b"))
        return got

    assert asyncio.run(read()) == [b"first", b"second", b"third"]
