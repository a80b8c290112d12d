"""The one order in the simulated world: crashes, cuts and merges at moments that are chosen, with real members."""

import pytest

from ringcast.model import MS, SECOND, Kind, profile
from ringcast.sim import Cluster, Fault, Link
from simulation.judging import assert_held
from simulation.ordering import group, read, settled

JITTER = Link(jitter_ns=300_000)


@pytest.mark.parametrize("victim", ["A", "B"])
@pytest.mark.parametrize("moment_ms", [0, 1, 2, 3, 5, 8])
def test_o02_coordinator_or_sender_crashes_while_messages_are_on_their_way(victim: str, moment_ms: int) -> None:
    cluster = group("ABCD", link=JITTER)
    for number in range(20):
        for name in "ABCD":
            cluster.queue(name, f"{name}{number}".encode(), to=None if number % 3 else "BCD")
    cluster.run_for(moment_ms * MS)
    cluster.crash(victim)
    survivors = [name for name in "ABCD" if name != victim]
    order = settled(cluster, *[name for name in survivors if name != "A"])
    for name in survivors:
        assert len([payload for payload in order if payload.startswith(name.encode())]) == 20
    assert_held(cluster, "G5", "G11", "G12", "G13")


def test_sender_and_coordinator_crash_together() -> None:
    cluster = group("ABCDE", link=JITTER)
    for number in range(10):
        cluster.queue("B", str(number).encode(), to="CDE")
        cluster.queue("A", str(number).encode())
    cluster.run_for(1 * MS)
    cluster.crash("A")
    cluster.crash("B")
    settled(cluster, "C", "D", "E")
    assert_held(cluster, "G11", "G12")


def test_a_joiner_reads_what_is_ordered_from_its_view_on() -> None:
    cluster = group("ABC", link=JITTER)
    for number in range(30):
        cluster.queue("ABC"[number % 3], str(number).encode())
    cluster.start("D")
    for number in range(30, 60):
        cluster.run_for(1 * MS)
        cluster.queue("ABC"[number % 3], str(number).encode())
    order = settled(cluster, "A", "B", "C")
    assert sorted(map(int, order)) == list(range(60))
    joined = read(cluster, "D")
    assert order[len(order) - len(joined) :] == joined
    assert_held(cluster, "G11", "G12", "G13")


def test_a_leaving_coordinator_loses_nothing() -> None:
    cluster = group("ABC", link=JITTER)
    for number in range(30):
        cluster.queue("ABC"[number % 3], str(number).encode())
    cluster.leave("A")
    order = settled(cluster, "B", "C")
    assert sorted(map(int, order)) == list(range(30))


def test_o06_two_sides_order_for_themselves_and_go_on_in_one_order_after_the_merge() -> None:
    cluster = group("ABCD", link=JITTER)
    cluster.faults.begin(Fault("split", 0, 0, ("A", "C")))
    assert cluster.run_until(lambda: {len(member.node.view.members) for member in cluster.alive()} == {2})
    for number in range(10):
        for name in "ABCD":
            cluster.queue(name, f"{name}{number}".encode())
    cluster.run_for(1 * SECOND)
    assert read(cluster, "A") == read(cluster, "C") != read(cluster, "B") == read(cluster, "D")
    cluster.heal()
    assert cluster.run_until(cluster.share_a_view)
    marks = {name: len(read(cluster, name)) for name in "ABCD"}
    for number in range(10, 20):
        for name in "ABCD":
            cluster.queue(name, f"{name}{number}".encode())
    assert cluster.run_until(cluster.is_settled)
    after = [read(cluster, name)[marks[name] :] for name in "ABCD"]
    assert after[0] == after[1] == after[2] == after[3] and len(after[0]) == 40
    assert_held(cluster, "G11", "G12", "G13")


def test_o06_a_payload_that_arrives_after_its_view_holds_up_nothing_after_the_merge() -> None:
    """Simulated seeds 664 and 314 (total): it took the only place for payloads that wait, and the next was refused."""
    cluster = group("ABC", link=JITTER, config=profile("test", capacity=1))
    cluster.faults.begin(Fault("split", 0, 0, ("A", "B")))
    cluster.queue("B", b"too late for C", to="AC")
    assert cluster.run_until(lambda: {len(member.node.view.members) for member in cluster.alive()} == {1, 2})
    assert read(cluster, "A") == [b"too late for C"]
    cluster.heal()
    assert cluster.run_until(cluster.share_a_view)
    for number in range(5):
        cluster.queue("B", str(number).encode(), to="AC")
    assert cluster.run_until(cluster.is_settled)
    assert read(cluster, "C") == read(cluster, "A")[1:] == [b"0", b"1", b"2", b"3", b"4"]
    assert_held(cluster, "G11", "G12", "G13")


def test_o12_the_notice_that_a_member_is_gone_stands_at_one_place_among_the_ordered_messages() -> None:
    cluster = group("ABCD", link=JITTER)
    for number in range(40):
        cluster.queue("ABCD"[number % 4], str(number).encode())
        if number == 20:
            cluster.crash("A")
        cluster.run_for(1 * MS)
    settled(cluster, "B", "C", "D")
    notices = [read_before_view_without(cluster, name, "A") for name in "BCD"]
    assert notices[0] == notices[1] == notices[2] and 0 < len(notices[0]) == 1


def read_before_view_without(cluster: Cluster, name: str, gone: str) -> list[int]:
    """How many ordered messages this member had when it installed a view that the gone one is not in."""
    read, found, was_in = 0, [], False
    for event in cluster.events(name):
        if event.kind is Kind.DEQUEUE:
            read += event.count
        elif event.kind is Kind.VIEW:
            is_in = any(member[0] == gone for member in (event.detail or {})["members"])
            if was_in and not is_in:
                found.append(read)
            was_in = is_in
    return found
