"""The stories of one order that concern a group: many writers, causality through the group and around it."""

import pytest

from ringcast.model import MS, Address
from ringcast.sim import Cluster, Fault, Link
from simulation.judging import assert_held
from simulation.ordering import group, read

REORDERING = Link(jitter_ns=2 * MS, reorder=0.2, reorder_ns=10 * MS)
LOSSY = Link(jitter_ns=2 * MS, reorder=0.1, loss=0.1, duplicate=0.05)


@pytest.mark.parametrize("link", [REORDERING, LOSSY], ids=["reordering", "lossy"])
@pytest.mark.parametrize("writers", [9, 10, 11])
def test_o01_ten_writers_of_fifty_each_over_three_members_are_read_in_one_order(writers: int, link: Link) -> None:
    """O01, with one writer less and one more, and on links that also lose and repeat."""
    cluster = group("ABC", link=link)
    for number in range(50):
        for writer in range(writers):
            cluster.queue("ABC"[writer % 3], f"{writer}:{number}".encode())
        cluster.run_for(1 * MS)
    assert cluster.run_until(cluster.is_settled)
    orders = [read(cluster, name) for name in "ABC"]
    assert orders[0] == orders[1] == orders[2] and len(orders[0]) == writers * 50
    for writer in range(writers):
        mine = [payload for payload in orders[0] if payload.startswith(b"%d:" % writer)]
        assert mine == [f"{writer}:{number}".encode() for number in range(50)]
    assert_held(cluster, "G11", "G12", "G13")


def answer(cluster: Cluster, name: str, question: bytes, payload: bytes, to: str) -> None:
    """When `name` reads the question, it queues the payload."""

    def on_message(_: Address, read: bytes) -> None:
        if read == question:
            cluster.queue(name, payload, to=to)

    cluster.application(name).on_message = on_message


@pytest.mark.parametrize("seed", range(3))
def test_o15_an_answer_is_read_behind_its_question_by_somebody_who_got_both(seed: int) -> None:
    """O15: P1 to {P2, P3}; P2, on receipt, to P3."""
    cluster = group("ABCD", seed, REORDERING)
    answer(cluster, "B", b"question", b"answer", to="C")
    cluster.queue("A", b"question", to="BC")
    assert cluster.run_until(lambda: len(read(cluster, "C")) == 2)
    assert read(cluster, "C") == [b"question", b"answer"]
    assert_held(cluster, "G11", "G13")


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("delay_ms", [0, 1, 20])
def test_o15_news_that_went_around_the_group_is_read_behind_what_it_speaks_of(seed: int, delay_ms: int) -> None:
    """O15: P1 to {P2, P3}; P2 tells P4 through a side channel; P4's message goes to P3."""
    cluster = group("ABCD", seed, REORDERING)

    def over_the_side_channel(_: Address, payload: bytes) -> None:
        if payload == b"question":
            clock = cluster.clock
            clock.at(clock.now_ns + delay_ms * MS, lambda: cluster.queue("D", b"heard of it", to="C"))

    cluster.application("B").on_message = over_the_side_channel
    cluster.queue("A", b"question", to="BC")
    assert cluster.run_until(lambda: len(read(cluster, "C")) == 2)
    assert read(cluster, "C") == [b"question", b"heard of it"]
    assert_held(cluster, "G11", "G13")


@pytest.mark.parametrize("slow", "CD")
def test_o08_a_message_without_a_number_does_not_hold_up_what_is_numbered_before_it(slow: str) -> None:
    """O08: X has reached one of C and D and not the other; Y is placed meanwhile and both read it."""
    cluster = group("ABCD")
    cluster.faults.begin(Fault("one-way", 0, 0, ("B", slow)))  # X is on its way for as long as this lasts
    cluster.queue("B", b"X", to="CD")
    cluster.run_for(5 * MS)
    cluster.queue("A", b"Y", to="CD")
    cluster.run_for(50 * MS)
    assert read(cluster, "C") == read(cluster, "D") == [b"Y"]
    cluster.heal()
    assert cluster.run_until(lambda: cluster.is_settled() and cluster.share_a_view())
    assert read(cluster, "C") == read(cluster, "D") == [b"Y", b"X"]
    assert_held(cluster, "G11", "G12", "G13")


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("apart", ["CA", "DA", "A", "AB"])
def test_o06_sides_whose_coordinators_were_not_the_first_merge_and_go_on_in_one_order(apart: str, seed: int) -> None:
    """O06: a side led by somebody who led nothing before; ordered messages go on through cut and heal."""
    cluster = group("CDAB" if apart != "DA" else "DCAB", seed, Link(jitter_ns=300_000))
    cluster.faults.begin(Fault("split", 0, 0, tuple(apart)))
    for number in range(40):
        for name in "ABCD":
            cluster.queue(name, f"{name}{number}".encode())
        cluster.run_for(50 * MS)
    cluster.heal()
    for number in range(40, 60):
        for name in "ABCD":
            cluster.queue(name, f"{name}{number}".encode())
        cluster.run_for(50 * MS)
    assert cluster.run_until(lambda: cluster.is_settled() and cluster.share_a_view())
    for name in "ABCD":
        own = [payload for payload in read(cluster, name) if payload.startswith(name.encode())]
        assert own == [f"{name}{number}".encode() for number in range(60)]
    assert_held(cluster, "G9", "G11", "G12", "G13")
