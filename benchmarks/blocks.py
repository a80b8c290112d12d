"""Building blocks beside PySyncObj, three processes on this machine; and a call beside the plain round trip.

    python benchmarks/blocks.py [--peer PYTHON] [--seconds 5]

`set` and lock operations per second of all three processes together: one at a time, and 100 in flight at each process,
and the CPU time they took.
`--peer` is a Python that has PySyncObj (`uv venv DIR`, `uv pip install --python DIR/bin/python pysyncobj==0.3.17`): it
has no wheel, so it is in no lock of ours. Both run in turns, in their defaults; PySyncObj's lock only tries, so it is
one try and one release there. The last line is medians in microseconds: `send(to=)` to another process and back, the
same on a channel, and a call, the last two in turns in the same two processes.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import socket
import statistics
import subprocess
import sys
import time
from pathlib import Path

IN_FLIGHT = 100
WARM_UP = 0.5
TRIPS = 2_000


# ---- ringcast


async def ringcast_member(me: int, ports: list[int], what: str, seconds: float) -> list[float]:
    from ringcast import blocks

    table, locks = blocks.ReplicatedDict("d", str, int), blocks.Locks("l")
    place = {"bind": f"127.0.0.1:{ports[me]}", "seeds": [f"127.0.0.1:{port}" for port in ports]}
    async with blocks.join("bench", table, locks, name=f"m{me}", expect=3, inspect=False, **place) as group:
        await group.group.wait_for(3)

        async def one(number: int) -> None:
            if what == "lock":
                async with locks(f"{me}.{number % IN_FLIGHT}"):
                    pass
            else:
                await table.set(f"{me}.{number % 1000}", number)

        await _run(one, WARM_UP, 1 if what != "pipelined" else IN_FLIGHT)
        cpu = time.process_time()
        rate = await _run(one, seconds, 1 if what != "pipelined" else IN_FLIGHT)
        cpu = time.process_time() - cpu
        await asyncio.sleep(1)  # The others may still measure.
        return [rate, cpu / seconds]


async def _run(one, seconds: float, in_flight: int) -> float:  # type: ignore[no-untyped-def]
    begin, count = time.perf_counter(), 0

    async def client(number: int) -> None:
        nonlocal count
        while time.perf_counter() - begin < seconds:
            await one(number)
            count += 1
            number += in_flight

    await asyncio.gather(*(client(number) for number in range(in_flight)))
    return count / (time.perf_counter() - begin)


async def ringcast_trips(me: int, ports: list[int]) -> list[float]:
    """Medians in microseconds at member 0: the plain round trip, and a call."""
    from ringcast import Message, blocks

    rpc = blocks.Rpc("calls")

    @rpc.handler
    async def echo(text: str) -> str:
        return text

    place = {"bind": f"127.0.0.1:{ports[me]}", "seeds": [f"127.0.0.1:{port}" for port in ports]}
    async with blocks.join("trips", rpc, name=f"m{me}", expect=2, inspect=False, **place) as group:
        plain = group.channel("plain")
        await group.group.wait_for(2)
        other = next(member for member in group.members if member != group.me)
        if me == 1:
            async for event in plain:
                if isinstance(event, Message) and event.payload == b"end":
                    break
                if isinstance(event, Message):
                    await plain.send(event.payload, to=event.sender)
            return []
        call, took = echo.on(other), {"plain": [], "call": []}  # type: ignore[var-annotated]
        payload = b"x" * 20
        for _ in range(TRIPS):
            begin = time.perf_counter()
            await plain.send(payload, to=other)
            while not isinstance(await plain.receive(), Message):
                pass
            middle = time.perf_counter()
            await call("x" * 20)
            took["call"].append(time.perf_counter() - middle)
            took["plain"].append(middle - begin)
        await plain.send(b"end", to=other)
        return [statistics.median(took[kind]) * 1e6 for kind in ("plain", "call")]


# ---- the group itself, without blocks


async def group_trips(me: int, ports: list[int]) -> list[float]:
    """The plain round trip of a group that shares nothing, at member 0."""
    import ringcast

    seeds = [f"127.0.0.1:{port}" for port in ports]
    async with ringcast.join("plain", bind=seeds[me], seeds=seeds, name=f"m{me}", expect=2, inspect=False) as group:
        await group.wait_for(2)
        other = next(member for member in group.members if member != group.me)
        if me == 1:
            async for event in group:
                if isinstance(event, ringcast.Message) and event.payload == b"end":
                    break
                if isinstance(event, ringcast.Message):
                    await group.send(event.payload, to=event.sender)
            return []
        took = []
        for _ in range(TRIPS):
            begin = time.perf_counter()
            await group.send(b"x" * 20, to=other)
            while not isinstance(await group.receive(), ringcast.Message):
                pass
            took.append(time.perf_counter() - begin)
        await group.send(b"end", to=other)
        return [statistics.median(took) * 1e6]


# ---- PySyncObj


def peer_member(me: int, ports: list[int], what: str, seconds: float) -> list[float]:
    from pysyncobj import SyncObj  # type: ignore[import-not-found]
    from pysyncobj.batteries import ReplDict, ReplLockManager  # type: ignore[import-not-found]

    table, locks = ReplDict(), ReplLockManager(autoUnlockTime=75)
    places = [f"127.0.0.1:{port}" for port in ports]
    node = SyncObj(places[me], places[:me] + places[me + 1 :], consumers=[table, locks])
    while not node.isReady():
        time.sleep(0.01)

    def one(number: int) -> None:
        if what == "lock":
            key = f"{me}.{number % IN_FLIGHT}"
            locks.tryAcquire(key, sync=True)
            locks.release(key, sync=True)
        else:
            table.set(f"{me}.{number % 1000}", number, sync=True)

    def measure(seconds: float) -> float:
        begin, number = time.perf_counter(), 0
        while time.perf_counter() - begin < seconds:
            one(number)
            number += 1
        return number / (time.perf_counter() - begin)

    def pipelined(seconds: float) -> float:
        import threading

        room, done, number = threading.Semaphore(IN_FLIGHT), 0, 0

        def answered(_: object, error: int) -> None:
            nonlocal done
            done += not error
            room.release()

        begin = time.perf_counter()
        while time.perf_counter() - begin < seconds:
            room.acquire()
            table.set(f"{me}.{number % 1000}", number, callback=answered)
            number += 1
        return done / (time.perf_counter() - begin)

    run = pipelined if what == "pipelined" else measure
    run(WARM_UP)
    cpu = time.process_time()
    rate = run(seconds)
    cpu = time.process_time() - cpu
    time.sleep(1)
    node.destroy()
    return [rate, cpu / seconds]


# ---- running them


def free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def together(python: str, members: int, *words: str) -> list[str]:
    """One process for each member; what each says."""
    ports = json.dumps(free_ports(members))
    command = [python, str(Path(__file__).resolve()), "--member"]
    children = [
        subprocess.Popen([*command, str(me), ports, *words], stdout=subprocess.PIPE, text=True) for me in range(members)
    ]
    return [child.communicate(timeout=300)[0] for child in children]


def member(words: list[str]) -> None:
    me, ports = int(words[0]), json.loads(words[1])
    match words[2:]:
        case ["ringcast", what, seconds]:
            print(json.dumps(asyncio.run(ringcast_member(me, ports, what, float(seconds)))))
        case ["PySyncObj", what, seconds]:
            print(json.dumps(peer_member(me, ports, what, float(seconds))))
        case ["trips"]:
            print(json.dumps(asyncio.run(ringcast_trips(me, ports))))
        case ["plain"]:
            print(json.dumps(asyncio.run(group_trips(me, ports))))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--peer", help="a Python that has PySyncObj")
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--member", nargs="+", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.member:
        member(options.member)
        return
    for what in ("one at a time", "pipelined", "lock"):
        word, rates = what.split()[0], {}
        for name, python in (("ringcast", sys.executable), ("PySyncObj", options.peer)):
            if python:
                said = [json.loads(line) for line in together(python, 3, name, word, str(options.seconds))]
                rate, cpu = (sum(column) for column in zip(*said, strict=True))
                rates[name] = rate
                each = f"{cpu / rate * 1e6:,.0f} µs of CPU each, of all three processes"
                print(f"{'lock' if word == 'lock' else 'set'}, {what}: {name} {rate:,.0f} per second, {each}")
        if options.peer:
            print(f"    {rates['ringcast'] / rates['PySyncObj']:.1f} times")
    plain, call = json.loads(together(sys.executable, 2, "trips")[0])
    (bare,) = json.loads(together(sys.executable, 2, "plain")[0])
    print(
        f"round trip: send(to=) {bare:.0f} µs, on a channel {plain:.0f} µs, call {call:.0f} µs: {call / bare:.2f} times"
    )


if __name__ == "__main__":
    main()
