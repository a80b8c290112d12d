"""How many messages per second reach each consumer of a shared bus, every message to all of them, in one order.

Real processes. One run measures, one after the other on the same machine: the batch form, the single-message form, a
round trip between two processes that wait in asyncio, what kernel pipes move in the same shape and, if asked, other
ways from process to process. A figure counts only if it is complete: every consumer read every message, with the right
content, in its sender's order, and all consumers read them interleaved in the same way.
"""

from __future__ import annotations

import os
import statistics
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from ringcast.bench.bus_peers import measure_channels, raw_megabytes_per_second
from ringcast.bench.bus_round_trip import Trips, measure_round_trips
from ringcast.bench.bus_workers import Form, Part, consume, produce
from ringcast.bench.forked import LIMIT_S, run_all
from ringcast.bench.zmq_peers import lacks_pyzmq
from ringcast.bus import SharedBus
from ringcast.errors import UsageError

Say = Callable[[str], None]
SIZE_MAX = 1 << 18
ROUND_TRIPS = 5_000


@dataclass(frozen=True, slots=True)
class BusShape:
    """What is measured."""

    producers: int = 1
    consumers: int = 1
    size: int = 100
    seconds: float = 3.0
    record: str | None = None

    def __post_init__(self) -> None:
        for name, count in (("--producers", self.producers), ("--consumers", self.consumers)):
            if not 1 <= count <= 30:
                raise UsageError(f"{name} must be 1 to 30, got {count}")
        if not 2 <= self.size <= SIZE_MAX:
            raise UsageError(f"--size must be 2 to {SIZE_MAX}, got {self.size}")
        if not 0 < self.seconds <= 600:
            raise UsageError(f"--seconds must be above 0 and at most 600, got {self.seconds}")


def measure(shape: BusShape, form: Form) -> dict[str, Any]:
    """All producers queue for `seconds`, every consumer reads to the end."""
    bus = f"bench-{os.getpid()}-{form}"
    producers = tuple(f"p{index}" for index in range(shape.producers))
    consumers = tuple(f"c{index}" for index in range(shape.consumers))
    record = shape.record if form == "batch" else None
    works = {
        name: partial(
            produce if name in producers else consume,
            Part(bus, name, producers, consumers, shape.size, shape.seconds, form, record),
        )
        for name in (*consumers, *producers)
    }
    with SharedBus.open(bus, max_peers=shape.producers + shape.consumers, ring_bytes=ring_bytes(shape)):
        answers = run_all(works, shape.seconds + LIMIT_S)
    return figures({name: answers[name] for name in producers}, {name: answers[name] for name in consumers}, shape.size)


def ring_bytes(shape: BusShape) -> int:
    """A mebibyte, or more where messages are large."""
    return max(1 << 20, 1 << (8 * shape.size - 1).bit_length())


def figures(producers: dict[str, Any], consumers: dict[str, Any], size: int) -> dict[str, Any]:
    sent = {name: answer["sent"] for name, answer in producers.items()}
    rate = statistics.median(answer["per_second"] for answer in consumers.values())
    in_one_order = len({answer["interleaving"] for answer in consumers.values()}) == 1
    everything = all(answer["received"] == sent and not answer["wrong"] for answer in consumers.values())
    return {
        "messages_per_second_per_receiver": rate,
        "megabytes_per_second_per_receiver": rate * size / 1e6,
        "complete": in_one_order and everything and sum(sent.values()) > 0,
        "in_one_order": in_one_order,
        "retransmitted": 0,
        "rss_megabytes_max": max(answer["rss_megabytes"] for answer in (*producers.values(), *consumers.values())),
        "sent": sent,
    }


def run_bus(shape: BusShape, *, peers: bool, say: Say) -> dict[str, Any]:
    """The whole of `ringcast bench bus`."""
    who = f"{shape.producers} producers, {shape.consumers} consumers, {shape.size} B for {shape.seconds} s"
    say(f"batch form: {who}")
    result = measure(shape, "batch")
    say("single-message form")
    single = measure(shape, "single")
    result["single_form_messages_per_second_per_receiver"] = single["messages_per_second_per_receiver"]
    result["complete"] = result["complete"] and single["complete"]
    say("round trips in asyncio")
    result |= measure_round_trips(Trips(ROUND_TRIPS, shape.size))
    say("what pipes of the kernel move")
    result["raw_megabytes_per_second_per_receiver"] = raw_megabytes_per_second(
        shape.producers, shape.consumers, shape.seconds
    )
    result["share_of_raw"] = (
        result["megabytes_per_second_per_receiver"] / result["raw_megabytes_per_second_per_receiver"]
    )
    if peers:
        say("other ways from process to process")
        rates, losses = measure_channels(shape.producers, shape.consumers, shape.size, shape.seconds)
        result |= {"peers": rates, "peers_lost": losses}
        if lacking := lacks_pyzmq():
            say(f"left out: pyzmq: {lacking['pyzmq']}")
            result["left_out"] = lacking
        return result
    return result | {"peers": {}, "peers_lost": {}}
