"""Measures other ways from process to process in the shape of the bus benchmark; everything sent must arrive."""

from __future__ import annotations

import time
from functools import partial
from typing import Any

from ringcast.bench.bus_channels import RAW_END, RAW_PIECE, Channel, RawPipeChannel, available
from ringcast.bench.bus_load import END
from ringcast.bench.forked import LIMIT_S, run_all

CLOCK_EVERY = 64  # sends between two looks at the clock


def measure_channels(
    producers: int, consumers: int, size: int, seconds: float
) -> tuple[dict[str, float], dict[str, int]]:
    """Messages per second at each consumer, by channel; and how many messages were lost by those that lost any."""
    rates: dict[str, float] = {}
    losses: dict[str, int] = {}
    for kind in available():
        channel = kind(producers, consumers)
        try:
            rates[channel.name], lost = measure(channel, bytes(size), seconds)
        finally:
            channel.close()
        if lost:
            losses[channel.name] = lost
    return rates, losses


def raw_megabytes_per_second(producers: int, consumers: int, seconds: float) -> float:
    """What kernel pipes move to each consumer in the same shape, in large pieces."""
    channel = RawPipeChannel(producers, consumers)
    try:
        answers = run_all(
            {f"p{i}": partial(_send, channel, i, bytes(RAW_PIECE), seconds, RAW_END) for i in range(producers)}
            | {f"c{i}": partial(_count_bytes, channel, i) for i in range(consumers)},
            LIMIT_S + seconds,
        )
    finally:
        channel.close()
    slowest: float = min(answers[f"c{i}"] for i in range(consumers))
    return slowest / 1e6


def measure(channel: Channel, payload: bytes, seconds: float) -> tuple[float, int]:
    """(messages per second at the slowest consumer, messages lost)."""
    works: dict[str, Any] = {}
    for index in range(channel.consumers):
        works[f"c{index}"] = partial(_receive, channel, index)
    for index in range(channel.producers):
        works[f"p{index}"] = partial(_send, channel, index, payload, seconds, END)
    answers = run_all(works, LIMIT_S + seconds)
    sent = sum(answers[f"p{index}"] for index in range(channel.producers))
    received = [answers[f"c{index}"] for index in range(channel.consumers)]
    return min(rate for _, rate in received), sum(sent - count for count, _ in received)


def _send(channel: Channel, index: int, payload: bytes, seconds: float, end: bytes) -> int:
    send, sent, until = channel.sender(index), 0, time.monotonic() + seconds
    while time.monotonic() < until:
        for _ in range(CLOCK_EVERY):
            send(payload)
        sent += CLOCK_EVERY * channel.weight
    send(end)
    channel.flush()
    return sent


def _receive(channel: Channel, index: int) -> tuple[int, float]:
    """Counts until every producer has sent its end mark."""
    receive, count, ended, first = channel.receiver(index), 0, 0, 0
    while ended < channel.producers * channel.weight:
        for message in receive():
            if message == END:
                ended += 1
            else:
                count += 1
        first = first or time.monotonic_ns()
    rate = count * 1e9 / max(1, time.monotonic_ns() - first)
    channel.has_all(index)
    return count, rate


def _count_bytes(channel: RawPipeChannel, index: int) -> float:
    """Bytes per second until every producer has sent its end mark."""
    receive, count, first = channel.receiver(index), 0, 0
    ended = 0
    while ended < channel.producers:
        (piece,) = receive()
        count += len(piece)
        ended += piece.count(RAW_END) if RAW_END in piece else 0  # Looking is ten times faster than counting.
        first = first or time.monotonic_ns()
    return count / max(1, time.monotonic_ns() - first) * 1e9
