"""A peer in a process of its own that does one thing and may be killed or stopped at a named step of it.

    python child.py MODULE DIRECTORY TASK STEP NTH SIGNAL

It says on standard output what it has reached, one word per line, so that the test needs no waiting by the clock.
"""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType


def say(word: str) -> None:
    print(word, flush=True)


def run(native: ModuleType, directory: str, task: str, stop: tuple[str, int, int]) -> None:
    from ringcast.bus import Fenced, Message, SharedBus

    bus = SharedBus.open("crash", directory=directory)
    if task == "attach":
        native.stop_at(*stop)
        with bus.attach("a") as peer:
            say("attached")
            item = peer.dequeue(timeout=60)
            say(item.payload.decode() if isinstance(item, Message) else item.cause)
        return
    peer = bus.attach("a")
    if task == "queue":
        for number in range(3):
            peer.queue(b"%d" % number, to=("b", "c"))
        say("ready")
        native.stop_at(*stop)
        try:
            peer.queue_many([b"3", b"4"], to=("b", "c"))
            say("queued")
        except Fenced:
            say("fenced")
        peer.detach()
        bus.attach("again").queue(b"again", to=("b", "c"))
        say("again")
    elif task == "dequeue":
        say("ready")
        native.stop_at(*stop)
        while True:
            peer.dequeue_many()
    elif task == "detach":
        peer.queue(b"0", to=("b", "c"))
        native.stop_at(*stop)
        peer.detach()
        say("detached")
    elif task == "reap":
        say("ready")
        sys.stdin.readline()
        native.stop_at(*stop)
        bus.peers()
        say("reaped")
    elif task == "wake":
        say("ready")
        sys.stdin.readline()
        native.stop_at(*stop)
        peer.queue(b"awake", to=("b", "c"))
    elif task == "idle":
        say("ready")
        sys.stdin.readline()


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
    from integration.native_build import load_native

    module, where, what, step, nth, signal_number = sys.argv[1:]
    run(load_native(Path(module)), where, what, (step, int(nth), int(signal_number)))
