"""Building blocks beside PySyncObj, three processes on this machine; and a call beside the plain round trip.

    python benchmarks/blocks.py [--peer PYTHON] [--seconds 5] [--trips]

`set` and lock operations per second of all three processes together: one at a time, and 100 in flight at each process,
and the CPU time they took. A lock operation is one lock acquired and given back.
`--peer` is a Python that has PySyncObj (`uv venv DIR`, `uv pip install --python DIR/bin/python pysyncobj==0.3.17`): it
has no wheel, so it is in no lock of ours. Both run in turns, in their defaults; PySyncObj's lock only tries, so it is
one try and one release there. The last line is medians in microseconds: `send(to=)` to another process and back, the
same on a channel, and a call, in turns in the same two processes.
"""

from __future__ import annotations

import argparse
import asyncio
import functools
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


async def ringcast_member(me: int, ports: list[int], what: str, seconds: float) -> None:
    from ringcast import blocks

    table, locks = blocks.ReplicatedDict("d", str, int), blocks.Locks("l")
    place = {"bind": f"127.0.0.1:{ports[me]}", "seeds": [f"127.0.0.1:{port}" for port in ports]}
    async with blocks.join("bench", table, locks, name=f"m{me}", expect=3, inspect=False, **place) as group:
        await group.group.wait_for(3)

        is_lock, in_flight = what.startswith("lock"), IN_FLIGHT if what.endswith("pipelined") else 1

        async def one(number: int) -> None:
            if is_lock:
                async with locks(f"{me}.{number % IN_FLIGHT}"):
                    pass
            else:
                await table.set(f"{me}.{number % 1000}", number)

        await _run(one, WARM_UP, in_flight)
        cpu = time.process_time()
        rate = await _run(one, seconds, in_flight)
        cpu = time.process_time() - cpu
        print(json.dumps([rate, cpu / seconds]), flush=True)
        await asyncio.to_thread(sys.stdin.read)  # The others may still measure, and need a majority.


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
    """Medians in microseconds at member 0, in turns: `send(to=)` and back on a group that shares nothing, the same on a
    channel, a call."""
    import ringcast
    from ringcast import blocks

    rpc = blocks.Rpc("calls")

    @rpc.handler
    async def echo(text: str) -> str:
        return text

    bare, shared = ({"bind": seeds[me], "seeds": seeds} for seeds in _places(ports))
    common = {"name": f"m{me}", "expect": 2, "inspect": False}
    async with ringcast.join("bare", **bare, **common) as group, blocks.join("trips", rpc, **shared, **common) as trips:
        channel = trips.channel("plain")
        await group.wait_for(2)
        await trips.group.wait_for(2)
        if me == 1:
            await asyncio.gather(_send_back(group), _send_back(channel))
            return []
        peer = next(member for member in group.members if member != group.me)
        other = next(member for member in trips.members if member != trips.me)
        call = echo.on(other)
        took: list[list[float]] = [[], [], []]
        for _ in range(TRIPS):
            at = [time.perf_counter()]
            await _there_and_back(group, peer)
            at.append(time.perf_counter())
            await _there_and_back(channel, other)
            at.append(time.perf_counter())
            await call("x" * 20)
            at.append(time.perf_counter())
            for kind, begin, end in zip(took, at, at[1:], strict=False):
                kind.append(end - begin)
        await group.send(b"end", to=peer)
        await channel.send(b"end", to=other)
        return [statistics.median(kind) * 1e6 for kind in took]


def _places(ports: list[int]) -> list[list[str]]:
    """Two groups of two."""
    return [[f"127.0.0.1:{port}" for port in ports[at : at + 2]] for at in (0, 2)]


async def _send_back(place) -> None:  # type: ignore[no-untyped-def]
    from ringcast import Message

    async for event in place:
        if isinstance(event, Message) and event.payload == b"end":
            break
        if isinstance(event, Message):
            await place.send(event.payload, to=event.sender)


async def _there_and_back(place, member) -> None:  # type: ignore[no-untyped-def]
    from ringcast import Message

    await place.send(b"x" * 20, to=member)
    while not isinstance(await place.receive(), Message):
        pass


# ---- PySyncObj


def peer_member(me: int, ports: list[int], what: str, seconds: float) -> None:
    from pysyncobj import SyncObj  # type: ignore[import-not-found]
    from pysyncobj.batteries import ReplDict, ReplLockManager  # type: ignore[import-not-found]

    table, locks = ReplDict(), ReplLockManager(autoUnlockTime=75)
    places = [f"127.0.0.1:{port}" for port in ports]
    node = SyncObj(places[me], places[:me] + places[me + 1 :], consumers=[table, locks])
    while not node.isReady():
        time.sleep(0.01)

    is_lock = what.startswith("lock")

    def one(number: int) -> None:
        if is_lock:
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

        def acquired(key: str, _: object, error: int) -> None:
            locks.release(key, callback=answered)

        begin = time.perf_counter()
        while time.perf_counter() - begin < seconds:
            room.acquire()
            if is_lock:
                key = f"{me}.{number % IN_FLIGHT}"
                locks.tryAcquire(key, callback=functools.partial(acquired, key))
            else:
                table.set(f"{me}.{number % 1000}", number, callback=answered)
            number += 1
        return done / (time.perf_counter() - begin)

    run = pipelined if what.endswith("pipelined") else measure
    run(WARM_UP)
    cpu = time.process_time()
    rate = run(seconds)
    cpu = time.process_time() - cpu
    print(json.dumps([rate, cpu / seconds]), flush=True)
    sys.stdin.read()
    node.destroy()


# ---- running them


def free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def together(python: str, members: int, *words: str, groups: int = 1) -> list[str]:
    """One process for each member; what each says."""
    ports = json.dumps(free_ports(members * groups))
    command = [python, str(Path(__file__).resolve()), "--member"]
    children = [
        subprocess.Popen([*command, str(me), ports, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for me in range(members)
    ]
    said = [child.stdout.readline() for child in children if child.stdout is not None]
    for child in children:
        child.communicate(timeout=300)  # Nobody goes before all have said it.
    return said


def member(words: list[str]) -> None:
    me, ports = int(words[0]), json.loads(words[1])
    match words[2:]:
        case ["ringcast", what, seconds]:
            asyncio.run(ringcast_member(me, ports, what, float(seconds)))
        case ["PySyncObj", what, seconds]:
            peer_member(me, ports, what, float(seconds))
        case ["trips"]:
            print(json.dumps(asyncio.run(ringcast_trips(me, ports))))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--peer", help="a Python that has PySyncObj")
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--trips", action="store_true", help="only the round trips")
    parser.add_argument("--member", nargs="+", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.member:
        member(options.member)
        return
    for what in () if options.trips else ("set", "set-pipelined", "lock", "lock-pipelined"):
        rates = {}
        for name, python in (("ringcast", sys.executable), ("PySyncObj", options.peer)):
            if python:
                said = [json.loads(line) for line in together(python, 3, name, what, str(options.seconds))]
                rate, cpu = (sum(column) for column in zip(*said, strict=True))
                rates[name] = rate
                each = f"{cpu / rate * 1e6:,.0f} µs of CPU each, of all three processes"
                how = f"{IN_FLIGHT} in flight" if what.endswith("pipelined") else "one at a time"
                print(f"{what.split('-')[0]}, {how}: {name} {rate:,.0f} per second, {each}", flush=True)
        if options.peer:
            print(f"    {rates['ringcast'] / rates['PySyncObj']:.1f} times", flush=True)
    bare, channel, call = json.loads(together(sys.executable, 2, "trips", groups=2)[0])
    print(f"round trip: send(to=) {bare:.0f} µs, on a channel {channel:.0f} µs, call {call:.0f} µs", end="")
    print(f": {call / bare:.2f} times")


if __name__ == "__main__":
    main()
