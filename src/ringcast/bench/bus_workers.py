"""The processes of the bus benchmark: producers that queue as fast as they can, consumers that check everything."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from ringcast.bench.bus_load import END, Tally, batches_of, pool_of
from ringcast.bus import Message, Peer, PeerLeft, SharedBus, to_directory

Form = Literal["batch", "single"]
PATIENCE_S = 60.0
READY = b"ready"
CHECK_EVERY = 1024  # single messages between two checks


@dataclass(frozen=True, slots=True)
class Part:
    """One process's part in a measurement."""

    bus: str
    name: str
    producers: tuple[str, ...]
    consumers: tuple[str, ...]
    size: int
    seconds: float
    form: Form
    record: str | None = None

    def attach(self) -> Peer:
        bus = SharedBus.open(self.bus)
        peer = bus.attach(self.name, record=to_directory(self.record)) if self.record else bus.attach(self.name)
        bus.close()
        return peer

    def wait_for_consumers(self, peer: Peer) -> None:
        """Each says that it has seen everybody; before that a short run could be over, and a producer gone again."""
        heard: set[str] = set()
        while not heard >= set(self.consumers):
            heard.add(peer.dequeue(timeout=PATIENCE_S)[0])

    def tell_producers(self, peer: Peer) -> None:
        peer.wait_for(*self.producers, *self.consumers, timeout=PATIENCE_S)
        peer.queue(READY, to=self.producers)


def produce(part: Part) -> dict[str, Any]:
    with part.attach() as peer:
        part.wait_for_consumers(peer)
        pool = pool_of(part.size)
        send = _send_batches if part.form == "batch" else _send_singles
        sent = send(peer, pool, part)
        peer.queue(END, to=part.consumers, timeout=PATIENCE_S)
        return {"sent": sent, "rss_megabytes": rss_megabytes()}


def _send_batches(peer: Peer, pool: list[bytes], part: Part) -> int:
    sent, end = 0, time.monotonic() + part.seconds
    batches = batches_of(pool, part.size)
    while time.monotonic() < end:
        for batch in batches:
            peer.queue_many(batch, to=part.consumers)
            sent += len(batch)
    return sent


def _send_singles(peer: Peer, pool: list[bytes], part: Part) -> int:
    sent, end, queue, to = 0, time.monotonic() + part.seconds, peer.queue, part.consumers
    while time.monotonic() < end:
        for payload in pool:
            queue(payload, to=to)
        sent += len(pool)
    return sent


def consume(part: Part) -> dict[str, Any]:
    with part.attach() as peer:
        part.tell_producers(peer)
        tally = Tally(pool_of(part.size))
        read = _read_batches if part.form == "batch" else _read_singles
        read(peer, tally, len(part.producers))
        return {
            "received": tally.received,
            "wrong": tally.wrong,
            "interleaving": (tally.interleaving, tally.names),
            "per_second": tally.per_second(),
            "rss_megabytes": rss_megabytes(),
        }


def _read_batches(peer: Peer, tally: Tally, producers: int) -> None:
    while len(tally.ended) < producers:
        for item in peer.dequeue_runs(4096, timeout=PATIENCE_S):
            if isinstance(item, PeerLeft):
                tally.ended[item.name] = None
            else:
                tally.add_run(item.sender, item.payloads, item.seq)
        tally.touch()


def _read_singles(peer: Peer, tally: Tally, producers: int) -> None:
    count = 1  # The clock starts with the first message.
    while len(tally.ended) < producers:
        tally.add_messages(_next_singles(peer.dequeue, count, tally.ended, producers))
        tally.touch()
        count = CHECK_EVERY


def _next_singles(
    dequeue: Callable[[], Message | PeerLeft], count: int, ended: dict[str, None], producers: int
) -> list[Message]:
    items: list[Message] = []
    for _ in range(count):
        item = dequeue()
        if type(item) is Message and item[1] != END:
            items.append(item)
            continue
        ended[item[0]] = None
        if len(ended) == producers:
            break
    return items


def rss_megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
