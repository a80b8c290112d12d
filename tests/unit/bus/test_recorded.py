"""Recorded peers: what they write, that the checkers hold it, and that they find each way in which a bus could lie."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from ringcast.bus import BusFull, BusWaitExpired, LocalBus, Message, Peer, RecordedPeer, SharedBus, to_directory
from ringcast.checkers import Finding, judge
from ringcast.errors import UsageError
from ringcast.model import Event, Kind
from ringcast.trace import Header, MemoryRecorder, Recording, read_run

Bus = LocalBus | SharedBus
ORDER = ("G11", "G12", "G13")


class Tape:
    """Recorders in memory, one for each peer."""

    def __init__(self) -> None:
        self.recorders: list[MemoryRecorder] = []

    def record(self, header: Header) -> MemoryRecorder:
        self.recorders.append(MemoryRecorder(header))
        return self.recorders[-1]

    def recordings(self) -> list[Recording]:
        return [recorder.recording() for recorder in self.recorders]

    def events(self, index: int, kind: Kind) -> list[Event]:
        return [event for event in self.recorders[index].events if event.kind is kind]

    def tamper(self, index: int, kind: Kind, nth: int, change: Callable[[Event], Event]) -> None:
        events = self.recorders[index].events
        at = [place for place, event in enumerate(events) if event.kind is kind][nth]
        events[at] = change(events[at])


def findings(recordings: list[Recording]) -> dict[str, Finding]:
    judged = judge(recordings)
    return {name: judged.findings[name] for name in ORDER}


def verdicts(tape: Tape) -> list[str]:
    return [finding.verdict for finding in findings(tape.recordings()).values()]


def talk(bus: Bus, tape: Tape) -> None:
    """a and b talk to each other and to c; a leaves in the end."""
    a, b, c = (bus.attach(name, record=tape.record) for name in "abc")
    a.queue(b"1", to=("b", "c"))
    b.queue_many([b"2", b"3"], to=("a", "c"))
    assert len(b.dequeue_many(timeout=0)) == 1
    b.queue(b"4", to="c")
    a.queue_many([b"5", b"6"], to=("b", "c"))
    for peer in (a, b, c):
        peer.barrier()
    a.detach()
    b.dequeue()
    c.dequeue()
    b.detach()
    c.detach()


def test_every_tick_run_and_notice_is_one_event(bus: Bus) -> None:
    tape = Tape()
    talk(bus, tape)
    starts, finishes = tape.events(1, Kind.QUEUE_START), tape.events(1, Kind.QUEUE_FINISH)
    assert [(event.first, event.count, event.detail) for event in starts] == [
        (1, 2, {"to": ["a", "c"]}),
        (3, 1, {"to": ["c"]}),
    ]
    assert [(event.first, event.count) for event in finishes] == [(1, 2), (3, 1)]
    dequeues = tape.events(2, Kind.DEQUEUE)
    assert [(e.peer and e.peer.name, e.first, e.count, e.ordinal) for e in dequeues] == [
        ("a", 1, 1, 0),
        ("b", 1, 2, 1),
        ("b", 3, 1, 3),
        ("a", 2, 2, 4),
    ]
    assert all(event.view is None for event in dequeues)
    assert [(e.peer and e.peer.name, e.detail) for e in tape.events(1, Kind.NOTICE)] == [("a", {"what": "detached"})]


def test_an_honest_recording_holds_and_says_how_much_was_examined(bus: Bus) -> None:
    tape = Tape()
    talk(bus, tape)
    assert [(f.verdict, f.examined) for f in findings(tape.recordings()).values()] == [
        ("held", 17),
        ("held", 11),
        ("held", 4),
    ]


def test_threads_that_share_recorded_peers_hold_too(bus: Bus) -> None:
    tape = Tape()
    peers = [bus.attach(name, record=tape.record) for name in "abc"]

    def live(peer: RecordedPeer) -> None:
        for number in range(100):
            peer.queue(b"%d" % number, to=("a", "b", "c"))

    def read(peer: Peer) -> None:
        got = 0
        while got < 300:
            items = peer.dequeue_many(timeout=30)
            assert items
            got += len(items)

    with ThreadPoolExecutor(6) as pool:
        tasks = [pool.submit(work, peer) for peer in peers for work in (live, read)]
        for task in tasks:
            task.result()
    found = findings(tape.recordings())
    assert [(finding.verdict, finding.examined) for finding in found.values()] == [
        ("held", 1200),
        ("held", 900),
        ("held", 300),
    ]


def test_g11_is_violated_by_a_number_dequeued_again(bus: Bus) -> None:
    tape = Tape()
    talk(bus, tape)
    tape.tamper(2, Kind.DEQUEUE, 3, lambda event: replace(event, first=1))
    assert verdicts(tape)[0] == "violated"


def test_g11_is_violated_by_a_sender_whose_seqs_go_back(bus: Bus) -> None:
    tape = Tape()
    talk(bus, tape)
    tape.tamper(1, Kind.QUEUE_FINISH, 1, lambda event: replace(event, value=1))
    assert verdicts(tape)[0] == "violated"


def test_g12_is_violated_by_two_peers_who_dequeued_in_different_orders(bus: Bus) -> None:
    tape = Tape()
    a, b, c = (bus.attach(name, record=tape.record) for name in "abc")
    a.queue(b"1", to=("b", "c"))
    b.queue(b"2", to=("b", "c"))
    assert [len(peer.barrier()) for peer in (b, c)] == [2, 2]
    first, second = tape.events(2, Kind.DEQUEUE)
    tape.tamper(2, Kind.DEQUEUE, 0, lambda _: replace(second, ordinal=0))
    tape.tamper(2, Kind.DEQUEUE, 1, lambda _: replace(first, ordinal=1))
    assert verdicts(tape) == ["held", "violated", "held"]


def test_g12_is_violated_by_a_circle_that_no_two_peers_show(bus: Bus) -> None:
    """x before y at one, y before z at another, z before x at a third: no pair of them disagrees."""
    tape = Tape()
    peers = [bus.attach(name, record=tape.record) for name in "abc"]
    for sender, to in (("a", ("a", "c")), ("b", ("a", "b")), ("c", ("b", "c"))):
        peers["abc".index(sender)].queue(sender.encode(), to=to)
    for peer in peers:
        peer.barrier()
    assert verdicts(tape) == ["held", "held", "held"]
    first, second = tape.events(2, Kind.DEQUEUE)
    tape.tamper(2, Kind.DEQUEUE, 0, lambda _: second)
    tape.tamper(2, Kind.DEQUEUE, 1, lambda _: first)
    assert verdicts(tape)[1] == "violated"


def test_g13_is_violated_by_a_message_placed_before_what_was_dequeued_before_it(bus: Bus) -> None:
    tape = Tape()
    a, b = (bus.attach(name, record=tape.record) for name in "ab")
    a.queue(b"question", to="b")
    b.dequeue()
    b.queue(b"answer", to="a")
    assert verdicts(tape) == ["held", "held", "held"]
    tape.tamper(0, Kind.QUEUE_FINISH, 0, lambda event: replace(event, value=3))
    tape.tamper(1, Kind.DEQUEUE, 0, lambda event: replace(event, value=3))
    assert verdicts(tape)[2] == "violated"


def test_g13_is_violated_through_a_side_channel_too(bus: Bus) -> None:
    """b never received a's message; only time says that a's queueing had finished."""
    tape = Tape()
    a, b, _c = (bus.attach(name, record=tape.record) for name in "abc")
    a.queue(b"first", to="c")
    b.queue(b"second", to="c")
    tape.tamper(0, Kind.QUEUE_FINISH, 0, lambda event: replace(event, value=2))
    tape.tamper(1, Kind.QUEUE_FINISH, 0, lambda event: replace(event, value=1))
    assert verdicts(tape)[2] == "violated"


def test_a_refused_attempt_leaves_no_event(bus: Bus) -> None:
    tape = Tape()
    a = bus.attach("a", record=tape.record)
    b = bus.attach("b")
    a.queue(b"x" * 16000, to="b")
    with pytest.raises(BusFull, match="is full"):
        a.queue(b"y" * 1000, to="b", policy="raise")
    with pytest.raises(BusWaitExpired, match="is full"):
        a.queue(b"y" * 1000, to="b", timeout=0.01)
    assert len(tape.events(0, Kind.QUEUE_START)) == 1
    b.dequeue()
    a.queue(b"y" * 1000, to="b")
    assert verdicts(tape)[0] == "held"


def test_what_a_barrier_gives_back_is_recorded_once(bus: Bus) -> None:
    tape = Tape()
    a, b = bus.attach("a"), bus.attach("b", record=tape.record)
    a.queue_many([b"1", b"2"], to="b")
    b._give_back(b.dequeue_many(timeout=0))
    assert [m.payload for m in b.dequeue_many(timeout=0) if isinstance(m, Message)] == [b"1", b"2"]
    assert len(tape.events(0, Kind.DEQUEUE)) == 1


def test_the_asyncio_forms_are_recorded_as_well(bus: Bus) -> None:
    tape = Tape()

    asyncio.run(asyncio.wait_for(story_with_reader(bus, tape), 30))
    assert verdicts(tape) == ["held", "held", "held"]


async def story_with_reader(bus: Bus, tape: Tape) -> None:
    async with bus.attach("a", record=tape.record) as a, bus.attach("b", record=tape.record) as b:
        sending = asyncio.create_task(a.aqueue_many([b"x" * 5000] * 10, to="b"))
        got = 0
        while got < 10:
            got += len(await b.adequeue_many(3))
        await sending


def test_recordings_go_to_a_directory_and_come_back(bus: Bus, tmp_path: Path) -> None:
    record = to_directory(tmp_path / "run")
    with bus.attach("a", record=record) as a, bus.attach("b", record=record) as b:
        a.queue_many([b"1", b"2"], to="b")
        b.barrier()
    recordings = read_run([tmp_path / "run"])
    assert {recording.member.name for recording in recordings} == {"a", "b"}
    assert all(recording.is_whole for recording in recordings)
    assert [finding.verdict for finding in findings(recordings).values()] == ["held", "held", "held"]


def test_a_name_that_is_no_file_name_is_refused_and_detached(bus: Bus, tmp_path: Path) -> None:
    a = bus.attach("a")
    with pytest.raises(UsageError, match="cannot be recorded into files"):
        bus.attach("x/y", record=to_directory(tmp_path / "run"))
    assert a.names() == ["a"]
