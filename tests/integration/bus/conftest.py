"""Fixtures of the crash tests: the build with steps, a bus with two survivors, children."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from integration.native_build import compile_native
from needs.plugin import require
from ringcast.bus import Message, PeerLeft, SharedBus
from ringcast.bus.shared_peer import SharedPeer

CHILD = Path(__file__).with_name("child.py")
PATIENCE_S = 60


@pytest.fixture(scope="session")
def steps(tmp_path_factory: pytest.TempPathFactory) -> Path:
    require("compiler")
    require("native")
    return compile_native("_bus", tmp_path_factory.mktemp("steps"), "-O2", "-DBUS_STEPS")


@dataclass(slots=True)
class Child:
    """One child process and what it says."""

    running: subprocess.Popen[str]

    def hear(self) -> str:
        """The next word, or "" when it has ended."""
        assert self.running.stdout is not None
        return self.running.stdout.readline().strip()

    def tell(self) -> None:
        assert self.running.stdin is not None
        self.running.stdin.write("\n")
        self.running.stdin.flush()

    def die(self) -> None:
        self.running.kill()
        self.running.wait()

    def wait_until_stopped(self) -> None:
        _, status = os.waitpid(self.running.pid, os.WUNTRACED)
        assert os.WIFSTOPPED(status), status

    def end(self) -> None:
        if self.running.poll() is None:
            self.running.send_signal(signal.SIGCONT)
            self.running.kill()
        self.running.communicate()


Start = Callable[..., Child]


@pytest.fixture
def start(steps: Path, tmp_path: Path) -> Iterator[Start]:
    children: list[Child] = []

    def make(task: str, step: str = "never", nth: int = 1, signal_number: int = signal.SIGKILL) -> Child:
        command = [sys.executable, str(CHILD), str(steps), str(tmp_path), task, step, str(nth), str(int(signal_number))]
        running = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        children.append(Child(running))
        return children[-1]

    yield make
    for child in children:
        child.end()


@dataclass(slots=True)
class Survivors:
    """Two peers of this process, b and c, who must agree whatever happens to the others."""

    bus: SharedBus
    b: SharedPeer
    c: SharedPeer

    def hear_until_left(self, *names: str) -> list[Message | PeerLeft]:
        """What both heard, the same, up to the last of these notices."""
        heard = [until_left(peer, set(names)) for peer in (self.b, self.c)]
        assert heard[0] == heard[1]
        assert self.b.dequeue_many(timeout=0) == self.c.dequeue_many(timeout=0) == []
        return heard[0]

    def still_work(self, *also: SharedPeer) -> None:
        """Everybody left can still reach everybody, and a newcomer too."""
        with self.bus.attach("new") as new:
            for sender in (self.b, self.c, new, *also):
                sender.queue(b"still", to=("b", "c", "new"))
            for receiver in (self.b, self.c, new):
                for _ in range(3 + len(also)):
                    assert isinstance(receiver.dequeue(timeout=PATIENCE_S), Message)
        self.hear_until_left("new")


def until_left(peer: SharedPeer, names: set[str]) -> list[Message | PeerLeft]:
    heard: list[Message | PeerLeft] = []
    while names:
        heard.append(peer.dequeue(timeout=PATIENCE_S))
        if isinstance(heard[-1], PeerLeft):
            names.remove(heard[-1].name)
    return heard


@pytest.fixture
def survivors(steps: Path, tmp_path: Path) -> Iterator[Survivors]:
    options = {"max_peers": 6, "ring_bytes": 1 << 14}
    with (
        SharedBus.open("crash", directory=tmp_path, stall_limit=0.3, **options) as bus,
        bus.attach("b") as b,
        bus.attach("c") as c,
    ):
        yield Survivors(bus, b, c)
