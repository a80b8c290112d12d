"""What reading costs per message, of two checkouts in turns: `async for` and `batches()`.

    python benchmarks/reading_place.py OLD_CHECKOUT [ROUNDS]

A member alone sends runs to itself in batches and reads them; only the reading is timed. Each round starts a fresh
process for each checkout and form, old and new in turns; the best of each counts, because noise only adds.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent.parent
MESSAGES = 1_000
REPEATS = 400

WORKER = f"""
import asyncio, sys, time
from ringcast.model import Address, Message, profile
from ringcast.runtime import open_fixed
from ringcast.transport import MemoryHub, MemoryTransport

async def main(form):
    transport = MemoryTransport(MemoryHub(), "A")
    config = profile("test", capacity=16384)
    best = float("inf")
    async with await open_fixed("g", "A", {{"A": "mem:A"}}, transport=transport, config=config) as group:
        payloads = [b"x" * 100] * {MESSAGES}
        messages, batches = aiter(group), group.batches()
        await anext(messages)
        for _ in range({REPEATS}):
            await group.send_many(payloads)
            left, begin = {MESSAGES}, time.perf_counter()
            if form == "messages":
                async for event in messages:
                    left -= 1
                    if not left:
                        break
            else:
                async for event in batches:
                    left -= len(event.payloads)
                    if not left:
                        break
            best = min(best, time.perf_counter() - begin)
            if form == "messages" and hasattr(messages, "ag_frame"):
                messages = aiter(group)
    print(best * 1e9 / {MESSAGES})

asyncio.run(main(sys.argv[1]))
"""


def measure(checkout: Path, form: str) -> float:
    environment = {"PYTHONPATH": str(checkout / "src"), "PATH": ""}
    command = [sys.executable, "-c", WORKER, form]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return float(done.stdout)


def main() -> None:
    old, rounds = Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 3
    for form in ("messages", "batches"):
        pairs = [(measure(old, form), measure(HERE, form)) for _ in range(rounds)]
        before, now = (min(column) for column in zip(*pairs, strict=True))
        print(f"{form:9} {before:8.1f} ns per message before, {now:8.1f} now ({now / before:.2f} times)")


if __name__ == "__main__":
    main()
