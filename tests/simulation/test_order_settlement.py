"""Settling what has no place at a view change, where the frames that are lost are chosen; with real members.

The first member coordinates. A rule that drops frames drops their repairs, too: what did not arrive never does.
"""

import pytest

from ringcast.model import MS, Kind
from ringcast.sim import Cluster, FrameRule, drop, hold
from simulation.judging import assert_held
from simulation.ordering import group, read, settled


def lose(cluster: Cluster, kind: str, sender: str, to: str) -> FrameRule:
    """Frames of this kind from any of these to any of those."""
    return FrameRule(cluster.network, drop, kind, [*sender], [*to])


def crash(cluster: Cluster, names: str) -> None:
    """What these sent has arrived where it will; then they are gone."""
    cluster.run_for(10 * MS)
    for name in names:
        cluster.crash(name)


def places(cluster: Cluster, name: str) -> list[tuple[str, int, int, int]]:
    """(sender, number, view number, seq) of everything that it dequeued."""
    found = [event for event in cluster.events(name) if event.kind is Kind.DEQUEUE]
    return [(e.peer.name, e.first, e.view.number, e.value) for e in found if e.peer is not None and e.view is not None]


def test_what_is_not_announced_at_the_end_of_a_view_is_ordered_alike_by_all() -> None:
    cluster = group("ABC")
    view = cluster["A"].node.view.id.number
    unacked = lose(cluster, "staged", "ABC", "ABC")
    for name in "CBA":
        cluster.queue(name, name.encode())
    cluster.run_for(100 * MS)
    assert unacked.caught and not read(cluster, "A")
    cluster.start("D")
    assert settled(cluster, "A", "B", "C") == [b"A", b"B", b"C"] and read(cluster, "D") == []
    assert places(cluster, "A") == [("A", 1, view, 1), ("B", 1, view, 2), ("C", 1, view, 3)]
    assert_held(cluster, "G5", "G11", "G12")


def test_a_crashed_coordinators_announcement_that_one_survivor_has_is_used_by_all() -> None:
    """C read its own message; B, which would come first by rank, has not heard of the announcement."""
    cluster = group("ABC")
    unheard = lose(cluster, "data", "A", "B")
    cluster.queue("C", b"c")
    cluster.run_for(10 * MS)
    known = places(cluster, "C")
    assert unheard.caught and len(known) == 1 and not read(cluster, "B")
    lose(cluster, "staged", "BC", "A")
    cluster.queue("B", b"b")
    crash(cluster, "A")
    assert settled(cluster, "B", "C") == [b"c", b"b"]
    assert places(cluster, "B") == places(cluster, "C") and places(cluster, "B")[:1] == known
    assert_held(cluster, "G5", "G11", "G12")


@pytest.mark.parametrize(("holder", "lacks"), ["BC", "CB"])
def test_a_crashed_senders_message_that_one_destination_holds_is_forwarded_and_ordered(holder: str, lacks: str) -> None:
    cluster = group("ABCD")
    lose(cluster, "stream", "D", lacks)
    cluster.queue("D", b"x", to="BC")
    crash(cluster, "D")
    assert read(cluster, holder) == []
    assert settled(cluster, "B", "C") == [b"x"] and read(cluster, "A") == []
    assert_held(cluster, "G12", "G16")


def test_from_the_first_message_nobody_holds_on_a_crashed_senders_are_dropped_by_all() -> None:
    cluster = group("ABCD")
    gone = cluster.address("D")
    lose(cluster, "stream", "D", "BC")
    lose(cluster, "staged", "BCD", "A")
    cluster.queue("D", b"kept")
    cluster.queue("D", b"lost", to="BC")
    cluster.queue("D", b"behind it")
    crash(cluster, "D")
    assert settled(cluster, "A", "B", "C") == [b"kept"]
    for name in "ABC":
        aborted = [(e.peer, e.first) for e in cluster.events(name) if e.kind is Kind.ABORTED]
        assert aborted == [(gone, 2), (gone, 3)]
    assert_held(cluster, "G5", "G12")


def test_a_message_of_which_no_destination_goes_on_drops_nothing_behind_it() -> None:
    cluster = group("ABCD")
    lose(cluster, "stream", "D", "C")
    cluster.queue("D", b"only for C", to="C")
    cluster.queue("D", b"for all")
    crash(cluster, "CD")
    assert settled(cluster, "A", "B") == [b"for all"]
    assert_held(cluster, "G5", "G12")


def test_a_stub_above_the_cut_takes_its_parcel_with_it() -> None:
    """The parcel reached B and C, the stub reached nobody: the message is nowhere, for all."""
    cluster = group("ABCD")
    lose(cluster, "data", "D", "ABC")
    cluster.queue("D", b"x", to="BC")
    crash(cluster, "D")
    assert settled(cluster, "A", "B", "C") == []
    cluster.queue("A", b"y")
    assert settled(cluster, "A", "B", "C") == [b"y"]
    assert_held(cluster, "G5", "G12")


def test_sender_and_coordinator_crash_together_and_no_survivor_has_a_message_whole() -> None:
    """Of `a` the stub reached C only and the payload D only; `b` reached D only."""
    cluster = group("ABCD")
    lose(cluster, "data", "A", "BD")
    lose(cluster, "stream", "A", "C")
    lose(cluster, "data", "B", "AC")
    cluster.queue("A", b"a", to="CD")
    cluster.queue("B", b"b")
    crash(cluster, "AB")
    assert settled(cluster, "C", "D") == [b"a", b"b"]
    assert_held(cluster, "G5", "G12", "G16")


def test_parcels_of_a_survivor_that_are_still_on_their_way_come_before_the_view() -> None:
    cluster = group("ABCD")
    before = cluster["C"].node.view.id
    late = FrameRule(cluster.network, hold, "stream", "B", "C")
    cluster.queue("B", b"x", to="AC")
    crash(cluster, "D")
    settling = cluster["C"].node.order.ordering
    assert cluster.run_until(lambda: settling.settling is not None)
    cluster.run_for(100 * MS)
    assert late.held and cluster["C"].node.view.id == before
    late.end()
    assert settled(cluster, "A", "C") == [b"x"]
    assert places(cluster, "A") == places(cluster, "C") == [("B", 1, before.number, 1)]
    assert_held(cluster, "G12", "G16")
