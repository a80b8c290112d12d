"""What does sealing cost? Clear and sealed side by side, in turns, in one run.

    python benchmarks/encryption.py [--seconds S] [--turns N] [--size B] [--transport udp|tcp]

Prints messages per second per receiver in batch form (one sender, three receivers), closed round trips of 100 B, and of
what sealing and opening a full frame costs the part that is the cipher itself (one call each on the same bytes).
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

from ringcast.bench.latency import LatencyShape, _group, _ping
from ringcast.bench.multicast import Shape, measure
from ringcast.security import OVERHEAD, Keyring, Seal, new_key, write_keyring

FRAMES = 2_000


async def throughput(key: str | None, wanted: argparse.Namespace) -> float:
    shape = Shape(size=wanted.size, seconds=wanted.seconds, transport=wanted.transport, key=key)
    figures = await measure(shape, "batch")
    assert figures["complete"], figures
    return float(figures["messages_per_second_per_receiver"])


async def round_trip(key: str | None, wanted: argparse.Namespace) -> float:
    shape = LatencyShape(seconds=wanted.seconds, closed_loop=True, key=key)
    async with _group(shape, ("asks", "answers")) as members:
        return float((await _ping(members, shape.pings(private=False)))["p50_us"])


def cpu_us(work: Callable[[int], object]) -> float:
    """Processor time of one call; the lowest of five rounds."""
    rounds = []
    for _ in range(5):
        began = time.process_time()
        for number in range(FRAMES // 5):
            work(number)
        rounds.append((time.process_time() - began) * 5e6 / FRAMES)
    return min(rounds)


def share_of_cipher(size: int) -> dict[str, float]:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    keyring, frame, head = Keyring((new_key(),)), os.urandom(size), bytes(OVERHEAD - 16)
    sender, receiver, cipher = Seal("g", keyring, os.urandom), Seal("g", keyring, os.urandom), AESGCM(os.urandom(32))
    encrypted, place = cipher.encrypt(bytes(12), frame, head), memoryview(bytearray(size))
    sealed = iter([memoryview(sender.seal(frame)) for _ in range(FRAMES)])
    ours = cpu_us(lambda _: sender.seal(frame)) + cpu_us(lambda _: receiver.open(next(sealed)))
    its = cpu_us(lambda _: cipher.encrypt(bytes(12), frame, head))
    its += cpu_us(lambda _: cipher.decrypt_into(bytes(12), encrypted, head, place))
    return {"seal_and_open_us": ours, "cipher_us": its, "share_of_cipher": its / ours}


async def run(wanted: argparse.Namespace) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "bench.key"
        write_keyring(path, Keyring((new_key(),)), is_new=True)
        rates: dict[bool, list[float]] = {False: [], True: []}
        trips: dict[bool, list[float]] = {False: [], True: []}
        for _ in range(wanted.turns):
            for is_sealed in (False, True):
                key = str(path) if is_sealed else None
                rates[is_sealed].append(await throughput(key, wanted))
                trips[is_sealed].append(await round_trip(key, wanted))
    clear, sealed = median(rates[False]), median(rates[True])
    return {
        "size": wanted.size,
        "transport": wanted.transport,
        "clear_messages_per_second_per_receiver": clear,
        "sealed_messages_per_second_per_receiver": sealed,
        "share_of_clear": median(b / a for a, b in zip(rates[False], rates[True], strict=True)),
        "clear_round_trip_p50_us": median(trips[False]),
        "sealed_round_trip_p50_us": median(trips[True]),
        "round_trip_factor": median(b / a for a, b in zip(trips[False], trips[True], strict=True)),
        **share_of_cipher(60_000),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--size", type=int, default=1_000)
    parser.add_argument("--transport", choices=["udp", "tcp"], default="udp")
    print(json.dumps(asyncio.run(run(parser.parse_args())), indent=2))


if __name__ == "__main__":
    main()
