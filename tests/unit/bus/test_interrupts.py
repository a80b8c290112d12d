"""A signal handler that raises anywhere inside a call of a LocalBus ends the call, and leaves the bus whole."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from ringcast.bus import LocalBus, Message
from ringcast.bus.local_peer import LocalPeer

BUS = str(Path(sys.modules[LocalBus.__module__].__file__ or "").parent)


class Interrupt(Exception):
    pass


def interrupted_at(number: int, call: Callable[[], Any]) -> bool:
    """Raise before the instruction of this number that the main thread runs in the bus; False if there are fewer."""
    left = number

    def trace(frame: FrameType, event: str, argument: object) -> Any:
        nonlocal left
        if not frame.f_code.co_filename.startswith(BUS):
            return None
        frame.f_trace_opcodes = True
        if event == "opcode":
            left -= 1
            if left == 0:
                raise Interrupt
        return trace

    sys.settrace(trace)
    try:
        call()
    except Interrupt:
        return True
    finally:
        sys.settrace(None)
    return False


def attached(bus: LocalBus, *names: str) -> list[LocalPeer]:
    return [bus.attach(name) for name in names]


def check(bus: LocalBus, sender: LocalPeer, receivers: list[LocalPeer]) -> None:
    """Everything goes on: what was interrupted is at all of them or at none, and what is queued now is read."""
    sender.queue(b"end", to=[peer.name for peer in receivers], timeout=5)
    read = []
    for peer in receivers:
        found: list[bytes] = []
        while not found or found[-1] != b"end":
            found += [item.payload for item in peer.dequeue_many(timeout=5) if isinstance(item, Message)]
        read.append(found)
        assert peer.barrier(timeout=5) == []
    assert all(found == read[0] for found in read[1:]), read
    assert read[0] in ([b"end"], [b"interrupted", b"end"]), read


def queue(a: LocalPeer, b: LocalPeer) -> None:
    a.queue(b"interrupted", to=["b", "c"])


def queue_many(a: LocalPeer, b: LocalPeer) -> None:
    a.queue_many([b"interrupted"], to=["b", "c"], timeout=1)


def barrier(a: LocalPeer, b: LocalPeer) -> None:
    b.barrier(timeout=1)


def dequeue(a: LocalPeer, b: LocalPeer) -> None:
    b.dequeue_many(timeout=0)


def wait_for_somebody(a: LocalPeer, b: LocalPeer) -> None:
    b.wait_for("a", timeout=0)


@pytest.mark.parametrize("call", [queue, queue_many, barrier, dequeue, wait_for_somebody])
def test_an_interrupt_before_any_instruction_of_a_call_leaves_the_bus_whole(
    call: Callable[[LocalPeer, LocalPeer], None],
) -> None:
    number, interrupts = 1, 0
    while True:
        bus = LocalBus()
        a, b, c = attached(bus, "a", "b", "c")
        was = interrupted_at(number, lambda: call(a, b))  # noqa: B023
        check(bus, a, [b, c])
        bus.close()
        if not was:
            break
        interrupts += 1
        number += 1
    assert interrupts > 20


def test_coming_and_going_survive_an_interrupt_at_any_instruction() -> None:
    number = 1
    while True:
        bus = LocalBus()
        a, b = attached(bus, "a", "b")
        was = interrupted_at(number, lambda: bus.attach("c").detach())  # noqa: B023
        a.barrier()  # What was begun has ended.
        if "c" in bus.attached():  # The interrupt came behind the first of the two.
            bus.release(bus.named("c"), "evicted")
        bus.attach("c")
        a.queue(b"end", to=["b", "c"], timeout=5)
        found = b.dequeue_many(timeout=5)
        while not isinstance(found[-1], Message):
            found += b.dequeue_many(timeout=5)
        bus.close()
        if not was:
            break
        number += 1
    assert number > 20


def test_what_was_taken_for_a_reader_that_was_interrupted_comes_next() -> None:
    """Up to where the call hands it over: there the interrupted application has it, or nobody."""
    lost = 0
    number = 1
    while True:
        bus = LocalBus()
        a, b = attached(bus, "a", "b")
        a.queue_many([b"1", b"2"], to="b")
        found: list[object] = []
        was = interrupted_at(number, lambda: found.extend(b.dequeue_many(timeout=1)))  # noqa: B023
        a.queue(b"3", to="b")
        while not found or found[-1].payload != b"3":  # type: ignore[attr-defined]
            found += b.dequeue_many(timeout=5)
        payloads = [item.payload for item in found]  # type: ignore[attr-defined]
        assert payloads in ([b"1", b"2", b"3"], [b"3"]), payloads
        lost += payloads == [b"3"]
        bus.close()
        if not was:
            break
        number += 1
    assert lost < number / 3


STORM = """
import random, signal, sys, threading
from ringcast.bus import LocalBus

class Interrupt(Exception): pass
def interrupt(*_): raise Interrupt

bus = LocalBus(ring_bytes=1 << 14)
a, b, c = (bus.attach(name) for name in "abc")
read = {"b": [], "c": []}
def reading(peer):
    while True:
        for item in peer.dequeue_many():
            read[peer.name].append(item.payload)
            if item.payload == b"end":
                return
threads = [threading.Thread(target=reading, args=[peer]) for peer in (b, c)]
for thread in threads: thread.start()
signal.signal(signal.SIGALRM, interrupt)
chance, interrupts, number = random.Random(int(sys.argv[1])), 0, 0
while interrupts < 300:
    number += 1
    try:
        signal.setitimer(signal.ITIMER_REAL, chance.uniform(0.00001, 0.0006))
        for _ in range(50):
            a.queue_many([b"%d" % number] * 3, to=["b", "c"])
        signal.setitimer(signal.ITIMER_REAL, 0)
    except Interrupt:
        interrupts += 1
a.queue(b"end", to=["b", "c"])
for thread in threads: thread.join()
assert read["b"] == read["c"], "not the same"
print("whole", len(read["b"]))
"""


@pytest.mark.parametrize("seed", range(3))
def test_a_process_that_is_interrupted_hundreds_of_times_goes_on(seed: int) -> None:
    """It waited for ever within ten interrupts."""
    done = subprocess.run(
        [sys.executable, "-c", STORM, str(seed)], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0 and done.stdout.startswith("whole"), done.stderr
