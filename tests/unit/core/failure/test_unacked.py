"""Whose acks are missing: those that have acked nothing more for the limit, although more was sent."""

from __future__ import annotations

from ringcast.core.failure.unacked import Unacked
from ringcast.model import Address

A, B = Address("A", 0, "A:1"), Address("B", 0, "B:1")


def test_who_acks_nothing_more_for_the_limit_is_missing_until_it_does() -> None:
    unacked = Unacked(10)
    assert unacked.look(0, [(A, 0, 7)]) == ()
    assert unacked.look(9, [(A, 0, 7)]) == ()
    assert unacked.look(10, [(A, 0, 7)]) == (A,)
    assert unacked.look(11, [(A, 0, 8)]) == ()


def test_each_stream_counts_alone_and_a_member_is_named_once() -> None:
    unacked = Unacked(10)
    unacked.look(0, [(A, 0, 1), (A, 1, 1), (B, 0, 1)])
    assert unacked.look(10, [(A, 0, 1), (A, 1, 1), (B, 0, 2)]) == (A,)


def test_whom_nothing_waits_for_is_forgotten() -> None:
    unacked = Unacked(10)
    unacked.look(0, [(A, 0, 1)])
    unacked.look(5, [])
    assert unacked.look(12, [(A, 0, 1)]) == ()


def test_the_time_in_which_this_process_slept_does_not_count() -> None:
    unacked = Unacked(10)
    unacked.look(0, [(A, 0, 1)])
    unacked.forgive(50, 50)
    assert unacked.look(51, [(A, 0, 1)]) == ()
