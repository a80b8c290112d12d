"""The file of a shared bus, changed while peers use it: no peer may crash, hang or reach beyond the file.

    python bus_file.py --rounds 20000 --seed 0
    python bus_file.py --module BUILD.so    with another build of the native part, such as one under a sanitizer

Each round makes a small bus, writes anything anywhere into its file (header, slots, transaction words, rings), and then
does what peers do. Any error must be one of ringcast's own. A round that hangs is ended by an alarm, with where it was.
Whoever can write the file is a peer and is trusted (docs/threat-model.md): the checks are for damage, not for malice.
"""

from __future__ import annotations

import argparse
import faulthandler
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from integration.native_build import load_native
from ringcast.errors import RingcastError

HANG_SECONDS = 20
NUMBERS = (0, 1, 2, 3, 63, 64, 255, 4_096, 2**31, 2**32 - 1, 2**32, 2**48, 2**63 - 1, 2**63, 2**64 - 8, 2**64 - 1)
CONTROL_BYTES = 8_192  # header and slots lie before it, in a bus of two to four peers


def damage(random: Random, path: Path) -> None:
    """A few words of eight bytes, anywhere or only where counters and states are."""
    size = path.stat().st_size
    first, last = random.choice([(0, 128), (0, CONTROL_BYTES), (64, CONTROL_BYTES), (0, size), (CONTROL_BYTES, size)])
    with path.open("r+b", buffering=0) as file:
        for _ in range(random.choice((1, 1, 3, 20, 400))):
            at = random.randrange(first, last - 8)
            at -= at % random.choice((8, 8, 8, 4, 1))
            if random.random() < 0.5:
                number = random.choice(NUMBERS)
            else:
                os.lseek(file.fileno(), at, os.SEEK_SET)
                old = int.from_bytes(file.read(8), "little")
                number = (
                    (old ^ 1 << random.randrange(64)) if random.random() < 0.5 else old + random.choice((-64, 8, 1))
                )
            os.pwrite(file.fileno(), (number % 2**64).to_bytes(8, "little"), at)


def round_of(seed: int, directory: Path) -> int:
    """How many calls went well after the damage."""
    from ringcast.bus import SharedBus  # after `--module`

    random = Random(f"bus {seed}")
    sizes = {"ring_bytes": 4_096, "max_peers": random.choice((2, 4))}
    path = directory / "ringcast-test.bus"
    good = 0
    with SharedBus.open("test", directory=directory, **sizes) as bus:
        a, b = bus.attach("a"), bus.attach("b")
        for _ in range(random.randrange(4)):
            a.queue_many([b"x" * random.randrange(200)] * random.randrange(1, 5), to=["a", "b"])
            if random.random() < 0.5:
                b.dequeue_many(timeout=0)
        damage(random, path)
        calls: list[Callable[[], object]] = [
            lambda: a.dequeue_many(timeout=0),
            lambda: b.dequeue_many(timeout=0),
            lambda: b.dequeue_runs(timeout=0),
            lambda: a.queue(b"more", to="b", policy="raise"),
            lambda: b.queue_many([b"more"] * 9, to=["a", "b"], policy="raise"),
            bus.peers,
            a.names,
            lambda: SharedBus.open("test", directory=directory, **sizes).close(),
            lambda: bus.attach("c").detach(),
        ]
        for call in random.choices(calls, k=12):
            good += went_well(call)
        for peer in (a, b):
            went_well(peer.detach)
    for left in directory.iterdir():
        left.unlink()
    return good


def went_well(call: Callable[[], object]) -> bool:
    try:
        call()
    except RingcastError:
        return False
    return True


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--module", type=Path)
    options = parser.parse_args()
    if options.module is not None:
        load_native(options.module)
    good, began = 0, time.process_time()
    with tempfile.TemporaryDirectory() as place:
        for seed in range(options.seed, options.seed + options.rounds):
            faulthandler.dump_traceback_later(HANG_SECONDS, exit=True)
            try:
                good += round_of(seed, Path(place))
            except Exception as fault:
                raise AssertionError(f"seed {seed}: {fault!r}") from fault
    faulthandler.cancel_dump_traceback_later()
    cpu = time.process_time() - began
    print(f"bus file: {options.rounds:,} rounds, {good:,} calls went well after the damage; {cpu:.0f} s of CPU")


if __name__ == "__main__":
    main()
