"""Real processes on one bus: one order, both causality stories of the seed through a pipe, forks, deaths."""

import asyncio
import multiprocessing as mp
import os
import signal
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from ringcast.bus import Detached, Message, Peer, PeerLeft, SharedBus

pytestmark = pytest.mark.needs("native")

PATIENCE_S = 60
ROUNDS = 300
fork = mp.get_context("fork")


def numbers(peer: Peer, count: int) -> list[bytes]:
    got: list[bytes] = []
    while len(got) < count:
        item = peer.dequeue(timeout=PATIENCE_S)
        if isinstance(item, Message):
            got.append(item.payload)
    return got


def start(work: Callable[..., None], *arguments: object) -> mp.process.BaseProcess:
    process = fork.Process(target=work, args=arguments)
    process.start()
    return process


def peer_in_child(directory: Path, name: str, *others: str) -> Peer:
    peer = SharedBus.open("story", directory=directory).attach(name)
    peer.wait_for(*others, timeout=PATIENCE_S)
    return peer


def relay_on_receipt(directory: Path, tell: Connection) -> None:
    """P2: whatever it dequeues, it tells P4 through the pipe."""
    with peer_in_child(directory, "p2") as p2:
        for payload in numbers(p2, ROUNDS):
            tell.send_bytes(payload)


def queue_when_told(directory: Path, told: Connection) -> None:
    """P4: never received the message itself; queues its own when the pipe says so."""
    with peer_in_child(directory, "p4", "p3") as p4:
        for _ in range(ROUNDS):
            p4.queue(b"after " + told.recv_bytes(), to="p3")


def test_dequeued_before_queued_holds_through_a_pipe_between_processes_o15(tmp_path: Path) -> None:
    told, tell = fork.Pipe(duplex=False)
    with SharedBus.open("story", directory=tmp_path) as bus, bus.attach("p1") as p1, bus.attach("p3") as p3:
        children = [start(relay_on_receipt, tmp_path, tell), start(queue_when_told, tmp_path, told)]
        p1.wait_for("p2", "p4", timeout=PATIENCE_S)
        for number in range(ROUNDS):
            p1.queue(b"%d" % number, to=("p2", "p3"), timeout=PATIENCE_S)
        seen = numbers(p3, 2 * ROUNDS)
        for child in children:
            child.join(PATIENCE_S)
    for number in range(ROUNDS):
        assert seen.index(b"%d" % number) < seen.index(b"after %d" % number)


def queue_then_tell(directory: Path, tell: Connection) -> None:
    with peer_in_child(directory, "p1", "p3") as p1:
        for number in range(ROUNDS):
            p1.queue(b"%d" % number, to="p3")
            tell.send_bytes(b"%d" % number)


def test_finished_before_started_holds_through_a_pipe_between_processes_o15(tmp_path: Path) -> None:
    """The teller queued to P3 only; who is told has received nothing on the bus, and queues to P3 as well."""
    told, tell = fork.Pipe(duplex=False)
    with SharedBus.open("story", directory=tmp_path) as bus, bus.attach("p3") as p3:
        children = [start(queue_then_tell, tmp_path, tell), start(queue_when_told, tmp_path, told)]
        seen = numbers(p3, 2 * ROUNDS)
        for child in children:
            child.join(PATIENCE_S)
    for number in range(ROUNDS):
        assert seen.index(b"%d" % number) < seen.index(b"after %d" % number)


def test_a_barrier_after_a_signal_gives_what_was_queued_before_it(tmp_path: Path) -> None:
    told, tell = fork.Pipe(duplex=False)
    with SharedBus.open("story", directory=tmp_path) as bus, bus.attach("p3") as p3:
        child = start(queue_then_tell, tmp_path, tell)
        seen: set[bytes] = set()
        for _ in range(ROUNDS):
            signalled = told.recv_bytes()
            seen |= {item.payload for item in p3.barrier() if isinstance(item, Message)}
            assert signalled in seen
        child.join(PATIENCE_S)


def talk_to_all(directory: Path, name: str, names: tuple[str, ...], count: int) -> None:
    with peer_in_child(directory, name, *names) as peer:
        for number in range(count):
            peer.queue(f"{name}:{number}".encode(), to=names)
        numbers(peer, count * len(names))


def test_processes_that_all_talk_to_all_see_one_order_o01(tmp_path: Path) -> None:
    names, count = ("a", "b", "c"), 500
    with SharedBus.open("story", directory=tmp_path) as bus, bus.attach("c") as c, bus.attach("d") as d:
        children = [start(talk_to_all, tmp_path, name, (*names, "d"), count) for name in ("a", "b")]
        c.wait_for("a", "b", timeout=PATIENCE_S)
        seen: dict[str, list[bytes]] = {"c": [], "d": []}
        for number in range(count):
            c.queue(b"c:%d" % number, to=("a", "b", "c", "d"), timeout=PATIENCE_S)
            for peer in (c, d):
                seen[peer.name] += [m.payload for m in peer.dequeue_many(timeout=0) if isinstance(m, Message)]
        for peer in (c, d):
            seen[peer.name] += numbers(peer, 3 * count - len(seen[peer.name]))
        for child in children:
            child.kill()
            child.join()
    assert seen["c"] == seen["d"]
    assert len(set(seen["c"])) == 3 * count


def wait_to_be_killed(directory: Path) -> None:
    peer_in_child(directory, "victim").dequeue()


def test_a_process_that_is_killed_is_noticed_once_by_blocking_and_asyncio_waiters_o12(tmp_path: Path) -> None:
    with SharedBus.open("story", directory=tmp_path) as bus, bus.attach("b") as b, bus.attach("c") as c:
        child = start(wait_to_be_killed, tmp_path)
        b.wait_for("victim", timeout=PATIENCE_S)
        assert child.pid is not None
        os.kill(child.pid, signal.SIGKILL)
        first = asyncio.run(asyncio.wait_for(b.adequeue(), PATIENCE_S))
        second = c.dequeue(timeout=PATIENCE_S)
        child.join(PATIENCE_S)
        assert isinstance(first, PeerLeft) and first == second and first.cause == "died"
        assert b.dequeue_many(timeout=0) == c.dequeue_many(timeout=0) == []


def use_inherited(peer: Peer, tell: Connection) -> None:
    try:
        peer.queue(b"from the child", to="b")
    except Detached as refusal:
        tell.send(str(refusal))


def test_a_forked_child_cannot_use_its_parents_peer_and_does_not_keep_it_alive(tmp_path: Path) -> None:
    told, tell = fork.Pipe(duplex=False)
    with SharedBus.open("story", directory=tmp_path) as bus, bus.attach("a") as a, bus.attach("b") as b:
        child = start(use_inherited, a, tell)
        assert "belongs to the parent process; attach anew after a fork" in told.recv()
        child.join(PATIENCE_S)
        a.queue(b"still mine", to="b")
        assert isinstance(item := b.dequeue(timeout=PATIENCE_S), Message) and item.payload == b"still mine"


def attach_fork_and_die(directory: Path, tell: Connection) -> None:
    peer = peer_in_child(directory, "parent")
    grandchild = os.fork()
    if grandchild == 0:
        signal.pause()
    tell.send(grandchild)
    assert peer.name == "parent"
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_dead_process_is_noticed_although_a_child_of_it_lives_on(tmp_path: Path) -> None:
    told, tell = fork.Pipe(duplex=False)
    with SharedBus.open("story", directory=tmp_path) as bus, bus.attach("b") as b:
        child = start(attach_fork_and_die, tmp_path, tell)
        grandchild = told.recv()
        try:
            notice = b.dequeue(timeout=PATIENCE_S)
            assert isinstance(notice, PeerLeft) and (notice.name, notice.cause) == ("parent", "died")
        finally:
            os.kill(grandchild, signal.SIGKILL)
            child.join(PATIENCE_S)


def die_with_the_bus_open(directory: Path) -> None:
    peer = peer_in_child(directory, "a")
    peer.queue(b"never read", to="a")
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_bus_left_behind_by_a_killed_process_opens_cleanly(tmp_path: Path) -> None:
    start(die_with_the_bus_open, tmp_path).join(PATIENCE_S)
    assert (tmp_path / "ringcast-story.bus").exists()
    with SharedBus.open("story", directory=tmp_path, ring_bytes=1 << 12) as bus, bus.attach("a") as a:
        assert (a.names(), a.dequeue_many(timeout=0)) == (["a"], [])
    assert list(tmp_path.iterdir()) == []
