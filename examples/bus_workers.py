"""Processes of one host that share a ledger without a server: everybody applies the same entries in the same order.

    python examples/bus_workers.py            three workers, each books transfers between two accounts
    python examples/bus_workers.py 5 2000     five workers, 2,000 transfers each

A worker that is killed meanwhile is only a notice to the others; they still end with the same ledger.
"""

import json
import multiprocessing as mp
import random
import sys
from collections import Counter

from ringcast.bus import EVERYONE, PeerLeft, SharedBus

ACCOUNTS = ("ann", "bob", "eve")


def book(ledger: Counter[str], refused: Counter[str], entry: bytes) -> None:
    """Whether a transfer is covered depends on what came before it: this is why the order must be one."""
    source, target, amount = json.loads(entry)
    if ledger[source] < amount:
        refused["refused"] += 1
    else:
        ledger[source] -= amount
        ledger[target] += amount


def work(me: str, names: list[str], transfers: int) -> None:
    draw = random.Random(me)
    ledger, refused = Counter(dict.fromkeys(ACCOUNTS, 1_000)), Counter[str]()
    with SharedBus.open("ledger") as bus, bus.attach(me) as peer:
        peer.wait_for(*names)
        left = transfers
        talking = set(names)
        while talking:
            if left:
                source, target = draw.sample(ACCOUNTS, 2)
                peer.queue(json.dumps([source, target, draw.randint(1, 500)]).encode(), to=EVERYONE)
                left -= 1
                if not left:
                    peer.queue(b"done", to=EVERYONE)
            for item in peer.dequeue_many(timeout=0 if left else 1):
                if isinstance(item, PeerLeft):
                    talking.discard(item.name)
                elif item.payload == b"done":
                    talking.discard(item.sender)
                else:
                    book(ledger, refused, item.payload)
    sys.stdout.write(f"{me}: {dict(ledger)}, {refused['refused']} refused\n")  # In one piece: all write to one place.


def main(workers: int = 3, transfers: int = 500) -> None:
    names = [f"worker{number}" for number in range(workers)]
    processes = [mp.get_context("spawn").Process(target=work, args=(name, names, transfers)) for name in names]
    for process in processes:
        process.start()
    for process in processes:
        process.join()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
