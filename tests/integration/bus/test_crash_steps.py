"""A process killed at every step of everything it does on a bus, for real; the others agree and go on."""

import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from integration.bus.conftest import PATIENCE_S, Start, Survivors
from ringcast.bus import BusFull, Message, PeerLeft, SharedBus

QUEUE_STEPS = [
    ("queue: reserved", 1),
    ("queue: armed", 1),
    ("queue: written", 1),
    ("queue: published", 1),
    ("queue: written", 2),
    ("queue: published", 2),
    ("queue: staged", 1),
    ("queue: seq taken", 1),
    ("queue: committed", 1),
]
LEAVE_STEPS = [
    ("leave: begun", 1),
    ("leave: before fencing", 1),
    ("fence word", 1),
    ("fence word", 30),
    ("leave: fenced", 1),
    ("leave: seq taken", 1),
    ("leave: farewell committed", 1),
    ("leave: before bells", 1),
]
ATTACH_STEPS = ["attach: freed", "attach: words renewed", "attach: before active", "attach: active"]
DEQUEUE_STEPS = [("dequeue: before head", 1), ("dequeue: after head", 1), ("dequeue: before head", 7)]


def payloads(heard: list[Message | PeerLeft]) -> list[bytes]:
    return [item.payload for item in heard if isinstance(item, Message)]


@pytest.mark.parametrize(("step", "nth"), QUEUE_STEPS)
def test_a_producer_killed_while_queueing_o12(start: Start, survivors: Survivors, step: str, nth: int) -> None:
    child = start("queue", step, nth)
    assert child.hear() == "ready"
    assert child.running.wait(PATIENCE_S) == -signal.SIGKILL
    heard = survivors.hear_until_left("a")
    whole = [b"0", b"1", b"2", b"3", b"4"]
    assert payloads(heard) == (whole if step == "queue: committed" else whole[:3])
    assert isinstance(notice := heard[-1], PeerLeft) and (notice.name, notice.cause) == ("a", "died")
    survivors.still_work()


@pytest.mark.parametrize(("step", "nth"), LEAVE_STEPS)
def test_a_peer_killed_while_detaching(start: Start, survivors: Survivors, step: str, nth: int) -> None:
    child = start("detach", step, nth)
    assert child.running.wait(PATIENCE_S) == -signal.SIGKILL
    heard = survivors.hear_until_left("a")
    assert payloads(heard) == [b"0"]
    assert isinstance(notice := heard[-1], PeerLeft) and (notice.name, notice.cause) == ("a", "detached")
    survivors.still_work()


@pytest.mark.parametrize(("step", "nth"), LEAVE_STEPS)
def test_a_reaper_killed_while_it_reaps_a_dead_peer(start: Start, survivors: Survivors, step: str, nth: int) -> None:
    reaper = start("reap", step, nth)
    assert reaper.hear() == "ready"
    with survivors.bus.attach("victim") as victim:
        victim._file.abandon()  # As dead as the kernel can tell.
        reaper.tell()
        assert reaper.running.wait(PATIENCE_S) == -signal.SIGKILL
        heard = survivors.hear_until_left("victim", "a")
    assert sorted((left.name, left.cause) for left in heard if isinstance(left, PeerLeft)) == [
        ("a", "died"),
        ("victim", "died"),
    ]
    survivors.still_work()


@pytest.mark.parametrize("step", ATTACH_STEPS)
def test_a_peer_killed_while_attaching(start: Start, survivors: Survivors, step: str) -> None:
    child = start("attach", step)
    assert child.running.wait(PATIENCE_S) == -signal.SIGKILL
    if step == "attach: active":
        assert payloads(survivors.hear_until_left("a")) == []
    survivors.still_work()
    with survivors.bus.attach("a") as again:
        assert "a" in again.names()


def test_a_message_to_a_peer_that_is_still_attaching_is_not_lost(start: Start, survivors: Survivors) -> None:
    """Visible and not announced yet: who queues to it in that moment must reach it."""
    survivors.b.queue(b"b knows who is attached", to="c")
    assert isinstance(survivors.c.dequeue(timeout=PATIENCE_S), Message)
    child = start("attach", "attach: active", 1, signal.SIGSTOP)
    child.wait_until_stopped()
    survivors.b.wait_for("a", timeout=PATIENCE_S)
    survivors.b.queue(b"early", to="a")
    survivors.b.queue(b"late", to=("a", "c"))
    child.running.send_signal(signal.SIGCONT)
    assert [child.hear(), child.hear()] == ["attached", "early"]
    assert payloads(survivors.c.dequeue_many(timeout=PATIENCE_S)) == [b"late"]


@pytest.mark.parametrize(("step", "nth"), DEQUEUE_STEPS)
def test_a_consumer_killed_while_dequeueing_frees_who_waits_for_it(
    start: Start, survivors: Survivors, step: str, nth: int
) -> None:
    child = start("dequeue", step, nth)
    assert child.hear() == "ready"
    for number in range(300):  # Far more than a ring holds: without reaping this would wait for ever.
        to = ("a", "c") if "a" in survivors.b.names() else ("c",)
        survivors.b.queue(b"x" * 1000, to=to, timeout=PATIENCE_S)
        assert survivors.c.dequeue(timeout=PATIENCE_S).seq, number
    assert child.running.wait(PATIENCE_S) == -signal.SIGKILL
    assert isinstance(notice := survivors.b.dequeue(timeout=PATIENCE_S), PeerLeft) and notice.cause == "died"


@pytest.mark.parametrize("ends", ["commits", "dies"])
@pytest.mark.parametrize(("step", "nth"), [("queue: published", 2), ("queue: staged", 1)])
def test_a_staged_message_hides_a_committed_one_until_it_moves_behind_it_or_goes_o08(
    start: Start, tmp_path: Path, step: str, nth: int, ends: str
) -> None:
    """O08: X staged before Y was committed. X gets a later seq, or is removed: Y becomes readable, the waiter wakes."""
    with (
        SharedBus.open("crash", directory=tmp_path, stall_limit=600, max_peers=6, ring_bytes=1 << 14) as bus,
        bus.attach("b") as b,
        bus.attach("c") as c,
        ThreadPoolExecutor() as threads,
    ):
        child = start("queue", step, nth, signal.SIGSTOP)
        assert child.hear() == "ready"
        child.wait_until_stopped()
        assert payloads([c.dequeue(timeout=PATIENCE_S) for _ in range(3)]) == [b"0", b"1", b"2"]
        b.queue(b"y", to="c")
        assert c.dequeue_many(timeout=0) == []
        waiter = threads.submit(c.dequeue, timeout=PATIENCE_S)
        child.running.send_signal(signal.SIGCONT if ends == "commits" else signal.SIGKILL)
        assert payloads([waiter.result()]) == [b"y"]
        behind = c.dequeue(timeout=PATIENCE_S)
        assert payloads([behind]) == [b"3"] if ends == "commits" else isinstance(behind, PeerLeft)


@pytest.mark.parametrize("blow", [signal.SIGKILL, signal.SIGSTOP], ids=str)
def test_a_sleeper_hears_what_was_committed_although_the_ringer_never_woke_it(
    start: Start, survivors: Survivors, blow: signal.Signals
) -> None:
    child = start("wake", "bell: taken", 1, blow)
    assert child.hear() == "ready"
    assert survivors.b.dequeue_many(timeout=0.001) == []  # It has slept, and the mark that says so stays.
    child.tell()
    heard = survivors.b.dequeue(timeout=PATIENCE_S), survivors.c.dequeue(timeout=PATIENCE_S)
    assert payloads(list(heard)) == [b"awake", b"awake"]
    child.die()
    assert survivors.hear_until_left("a")[-1].seq > heard[0].seq
    survivors.still_work()


@pytest.mark.parametrize(("step", "nth"), QUEUE_STEPS)
def test_a_producer_stopped_while_queueing_is_fenced_and_may_come_back(
    start: Start, survivors: Survivors, step: str, nth: int
) -> None:
    child = start("queue", step, nth, signal.SIGSTOP)
    assert child.hear() == "ready"
    child.wait_until_stopped()
    blocks = step in ("queue: published", "queue: staged", "queue: seq taken") or (step, nth) == ("queue: written", 2)
    if not blocks:
        survivors.b.evict("a")  # Nobody can see that it stalls, so nobody minds; give it up all the same.
    heard = survivors.hear_until_left("a")
    whole = [b"0", b"1", b"2", b"3", b"4"]
    assert payloads(heard) == (whole if step == "queue: committed" else whole[:3])
    assert isinstance(notice := heard[-1], PeerLeft) and notice.cause == ("stalled" if blocks else "evicted")
    survivors.still_work()  # Its slot is quarantined: newcomers get others.
    child.running.send_signal(signal.SIGCONT)
    assert child.hear() == ("queued" if step == "queue: committed" else "fenced")
    assert child.hear() == "again"
    assert payloads([survivors.b.dequeue(timeout=PATIENCE_S)]) == [b"again"]


def test_a_slot_is_given_out_again_only_when_its_fenced_owner_is_gone(start: Start, survivors: Survivors) -> None:
    child = start("idle")
    assert child.hear() == "ready"
    survivors.b.evict("a")
    survivors.hear_until_left("a")
    guests = [survivors.bus.attach(f"guest{i}") for i in range(3)]
    assert 2 not in [guest._slot for guest in guests]
    child.die()
    with survivors.bus.attach("late") as late:
        assert late._slot == 2
    for guest in guests:
        guest.detach()


def test_a_consumer_that_never_reads_is_evicted_when_the_bus_was_opened_so(start: Start, tmp_path: Path) -> None:
    options = {"max_peers": 6, "ring_bytes": 1 << 14}
    with SharedBus.open("crash", directory=tmp_path, evict_after=0.3, **options) as bus, bus.attach("b") as b:
        child = start("idle")
        assert child.hear() == "ready"
        with pytest.raises(BusFull):
            while True:
                b.queue(b"x" * 1000, to="a", policy="raise")
        b.queue(b"x" * 1000, to=("a", "b"), timeout=PATIENCE_S)  # Waits until a is given up.
        heard = [b.dequeue(timeout=PATIENCE_S), b.dequeue(timeout=PATIENCE_S)]
        assert {type(item) for item in heard} == {Message, PeerLeft}
