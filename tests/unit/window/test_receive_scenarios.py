"""The stories of SCENARIOS W01 to W25 at one receive window."""

import random

import pytest

from ringcast.window import Admitted
from unit.window.receiving import add, drain, marks, window_with


def test_w01_a_new_window_is_empty() -> None:
    """W01."""
    window = window_with()
    assert marks(window) == (0, 0, 0)
    assert (window.get_run(15, 15), window.holds(15), window.occupancy) == ([], False, 0)


def test_w02_the_same_message_again_is_refused() -> None:
    """W02: in order it is old; beyond a gap it is a duplicate."""
    window = window_with(1)
    assert add(window, 1) == Admitted(new=0, old=1, duplicate=0, beyond=0)
    assert window.occupancy == 1
    assert add(window, 2) == Admitted(1, 0, 0, 0)
    assert window.occupancy == 2
    add(window, 4)
    assert add(window, 4) == Admitted(0, 0, 1, 0)
    assert window.occupancy == 3


def test_w03_messages_with_gaps_are_kept() -> None:
    """W03."""
    window = window_with()
    assert add(window, 0) == Admitted(0, 1, 0, 0)
    for seqno in (1, 5, 9, 10, 11, 19, 20, 29):
        assert add(window, seqno) == Admitted(1, 0, 0, 0)
    assert (window.occupancy, marks(window)) == (8, (0, 0, 29))


def test_w04_the_same_behind_an_offset() -> None:
    """W04."""
    window = window_with(101, 105, 109, 110, 111, 119, 120, 129, offset=100)
    assert (window.occupancy, marks(window)) == (8, (100, 100, 129))


def test_w05_the_offset_itself_is_old() -> None:
    """W05: offset 20: 10 and 20 refused, 21 is the first."""
    window = window_with(offset=20)
    assert add(window, 10) == Admitted(0, 1, 0, 0)
    assert add(window, 20) == Admitted(0, 1, 0, 0)
    assert window.occupancy == 0
    assert add(window, 21) == Admitted(1, 0, 0, 0)


@pytest.mark.parametrize("retain", [True, False])
def test_w06_exactly_capacity_messages_fit(retain: bool) -> None:
    """W06."""
    window = window_with(capacity=10, retain=retain)
    assert add(window, 1, 10) == Admitted(10, 0, 0, 0)
    assert add(window, 11) == Admitted(0, 0, 0, 1)
    assert window.occupancy == 10


def test_w06_the_last_slot_is_usable_across_a_gap() -> None:
    window = window_with(capacity=10)
    assert add(window, 11) == Admitted(0, 0, 0, 1)
    assert add(window, 10) == Admitted(1, 0, 0, 0)


@pytest.mark.parametrize("retain", [True, False])
def test_w07_one_message_read_and_stable_makes_room_for_one(retain: bool) -> None:
    """W07: the window's part; the waiting itself is tested with Group.send."""
    window = window_with((1, 10), capacity=10, retain=retain)
    assert add(window, 11) == Admitted(0, 0, 0, 1)
    assert window.take_ready(upto=1) == (1, [1])
    window.mark_taken(1)
    window.advance_stable(1)
    assert add(window, 11) == Admitted(1, 0, 0, 0)
    assert window.get_run(2, 11) == list(range(2, 12))


def test_w08_what_does_not_fit_is_dropped_and_fits_once_there_is_room() -> None:
    """W08: the window's part, which does not know of closing; the waiting itself is tested with Group.send."""
    window = window_with((1, 10), capacity=10, retain=False)
    window.take_ready()
    window.mark_taken(5)
    assert add(window, 11) == Admitted(1, 0, 0, 0)
    assert add(window, 12, 20) == Admitted(4, 0, 0, 5)
    assert window.occupancy == 10
    drain(window)
    assert add(window, 16, 25) == Admitted(10, 0, 0, 0)
    assert drain(window) == list(range(16, 26))


def test_w11_a_gap_holds_back_what_follows_it() -> None:
    """W11."""
    window = window_with((1, 2), (4, 6))
    assert window.missing(10, 100) == [(3, 3)]
    assert window.take_ready() == (1, [1, 2])
    assert window.take_ready() == (3, [])
    add(window, 3)
    assert window.take_ready() == (3, [3, 4, 5, 6])


def test_w12_missing_is_counted_behind_what_was_delivered() -> None:
    """W12."""
    window = window_with((1, 9), 20, retain=False)
    assert window.missing(10, 100) == [(10, 19)]
    assert drain(window) == list(range(1, 10))
    assert drain(window) == []
    assert (marks(window), window.occupancy, window.missing(10, 100)) == ((9, 9, 20), 1, [(10, 19)])


def test_w15_what_is_deliverable_is_what_is_ready_and_not_handed_out() -> None:
    """W15: `handed` is the highest delivered, `ready` the highest deliverable."""
    window = window_with((1, 6), 8)
    assert (window.handed, window.ready) == (0, 6)
    assert window.take_ready(upto=4) == (1, [1, 2, 3, 4])
    assert (window.handed, window.ready) == (4, 6)
    assert window.take_ready() == (5, [5, 6])
    assert (window.handed, window.ready) == (6, 6)
    add(window, 7)
    assert (window.handed, window.ready) == (6, 8)
    assert window.take_ready() == (7, [7, 8])


def test_w16_a_retaining_window_keeps_what_it_delivered_until_it_is_stable() -> None:
    """W16: the purge of a receive window is the sender's low."""
    window = window_with((1, 12), (15, 20))
    drain(window)
    assert marks(window) == (0, 12, 20)
    assert window.get_run(5, 5) == [5]
    window.advance_stable(12)
    assert marks(window) == (12, 12, 20)
    assert window.get_run(5, 5) == []


def test_w16_a_window_that_retains_nothing_frees_what_was_read() -> None:
    window = window_with((1, 12), (15, 20), retain=False)
    drain(window)
    assert marks(window) == (12, 12, 20)


def test_w17_a_low_above_what_we_have_frees_nothing() -> None:
    """W17: there is no forced purge here; it would be a gap (G1), so the window is orphaned instead."""
    for low in (1, 5, 32):
        window = window_with()
        window.advance_stable(low)
        assert (marks(window), window.is_orphaned) == ((0, 0, 0), True)
    window = window_with((1, 10))
    window.advance_stable(0)
    assert (window.is_orphaned, window.occupancy) == (False, 10)
    drain(window)
    window.advance_stable(5)
    assert window.occupancy == 5


def test_w18_only_what_lies_above_the_offset_is_freed() -> None:
    """W18: offset 5, 6 and 7 delivered: low 4, 5 free none, 6 and 7 one each."""
    window = window_with((6, 7), offset=5)
    drain(window)
    occupancy = []
    for low in (4, 5, 6, 7):
        window.advance_stable(low)
        occupancy.append(window.occupancy)
    assert occupancy == [2, 2, 1, 0]


def test_w19_a_late_low_is_ignored() -> None:
    """W19."""
    window = window_with((1, 30))
    window.take_ready(upto=20)
    window.advance_stable(20)
    window.advance_stable(15)
    assert marks(window) == (20, 20, 30)


def test_w21_the_window_goes_round_its_ring() -> None:
    """W21: capacity 16, offset 5."""
    window = window_with((6, 15), capacity=16, offset=5, retain=False)
    assert window.take_ready(upto=8) == (6, [6, 7, 8])
    window.mark_taken(8)
    add(window, 16, 18)
    assert drain(window) == list(range(9, 19))
    assert marks(window) == (18, 18, 18)


@pytest.mark.parametrize("offset", [2**63 - 11, -10])
def test_w22_numbers_at_the_edge_of_the_wire_width_are_ordinary(offset: int) -> None:
    """W22."""
    window = window_with((offset + 1, offset + 20), offset=offset, retain=False)
    assert window.occupancy == 20
    assert drain(window) == list(range(offset + 1, offset + 21))
    assert marks(window) == (offset + 20,) * 3


def test_w25_a_hundred_messages_in_any_order_fill_a_hundred_slots() -> None:
    """W25: the core is single-threaded; concurrent senders are tested with Group.send."""
    window = window_with(capacity=100)
    seqnos = list(range(1, 101))
    random.Random("W25").shuffle(seqnos)
    assert all(add(window, seqno).new == 1 for seqno in seqnos)
    assert (window.occupancy, window.take_ready()) == (100, (1, list(range(1, 101))))
