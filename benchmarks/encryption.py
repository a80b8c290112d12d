"""What does sealing cost? Clear and sealed side by side, in turns, in one run.

    python benchmarks/encryption.py [--seconds S] [--turns N] [--size B] [--transport udp|tcp]

Prints messages per second per receiver in batch form (one sender, three receivers), closed round trips of 100 B, and
what sealing adds to the CPU time of all members per message, with the part of it that is the cipher: in a third run of
each turn every call of the cipher is timed inside the members (`share_of_cipher_in_group`). Also of one sealed and
opened full frame the part that is the cipher (one call each on the same bytes). Compared is within a turn.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
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
TIMER = '''
"""Loaded by each member before anything else: times the calls of the cipher, and writes their CPU time at the end."""
import atexit, os, time
from ringcast.security import seal

spent = 0

class Timed:
    def __init__(self, cipher):
        self._encrypt, self._decrypt_into = cipher.encrypt, cipher.decrypt_into

    def encrypt(self, *arguments):
        global spent
        began = time.thread_time_ns()
        try:
            return self._encrypt(*arguments)
        finally:
            spent += time.thread_time_ns() - began

    def decrypt_into(self, *arguments):
        global spent
        began = time.thread_time_ns()
        try:
            return self._decrypt_into(*arguments)
        finally:
            spent += time.thread_time_ns() - began

plain = seal.Seal._cipher
seal.Seal._cipher = lambda self, key, session: Timed(plain(self, key, session))

@atexit.register
def write():
    with open(os.path.join(os.environ["RINGCAST_CIPHER_TIMES"], str(os.getpid())), "w") as file:
        file.write(str(spent))
'''


async def throughput(key: str | None, wanted: argparse.Namespace) -> dict[str, Any]:
    shape = Shape(size=wanted.size, seconds=wanted.seconds, transport=wanted.transport, key=key)
    figures = await measure(shape, "batch")
    assert figures["complete"], figures
    return figures


async def cipher_us_per_message(key: str, wanted: argparse.Namespace, directory: Path, turn: int) -> float:
    """CPU time inside the cipher, of all members together."""
    times = directory / f"times-{turn}"
    times.mkdir()
    (directory / "sitecustomize.py").write_text(TIMER)
    changed = {"PYTHONPATH": f"{directory}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"}
    changed["RINGCAST_CIPHER_TIMES"] = str(times)
    before = {name: os.environ.get(name) for name in changed}
    os.environ.update(changed)
    try:
        figures = await throughput(key, wanted)
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})
    spent = [int(path.read_text()) for path in times.iterdir()]
    assert sum(1 for one in spent if one) == 4, "four members have used the cipher"
    return sum(spent) / 1_000 / sum(figures["sent"].values())


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
        costs: dict[bool, list[float]] = {False: [], True: []}
        trips: dict[bool, list[float]] = {False: [], True: []}
        ciphers: list[float] = []
        for turn in range(wanted.turns):
            for is_sealed in (False, True):
                key = str(path) if is_sealed else None
                figures = await throughput(key, wanted)
                rates[is_sealed].append(float(figures["messages_per_second_per_receiver"]))
                costs[is_sealed].append(float(figures["cpu_us_per_message"]))
                trips[is_sealed].append(await round_trip(key, wanted))
            ciphers.append(await cipher_us_per_message(str(path), wanted, Path(directory), turn))
            last = [{"clear": kept[False][-1], "sealed": kept[True][-1]} for kept in (rates, costs, trips)]
            print(f"turn {turn + 1}: messages/s, CPU us, trip us {last}, cipher us {ciphers[-1]}", file=sys.stderr)
    clear, sealed = median(rates[False]), median(rates[True])
    added = [b - a for a, b in zip(costs[False], costs[True], strict=True)]
    return {
        "size": wanted.size,
        "transport": wanted.transport,
        "clear_messages_per_second_per_receiver": clear,
        "sealed_messages_per_second_per_receiver": sealed,
        "share_of_clear": median(b / a for a, b in zip(rates[False], rates[True], strict=True)),
        "shares_of_clear": [round(b / a, 2) for a, b in zip(rates[False], rates[True], strict=True)],
        "clear_cpu_us_per_message": median(costs[False]),
        "sealed_cpu_us_per_message": median(costs[True]),
        "added_cpu_us_per_message": median(added),
        "cipher_cpu_us_per_message": median(ciphers),
        "share_of_cipher_in_group": sum(ciphers) / sum(added),
        "shares_of_cipher_in_group": [round(b / a, 2) for a, b in zip(added, ciphers, strict=True)],
        "clear_round_trip_p50_us": median(trips[False]),
        "sealed_round_trip_p50_us": median(trips[True]),
        "round_trip_factors": [round(b / a, 2) for a, b in zip(trips[False], trips[True], strict=True)],
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
