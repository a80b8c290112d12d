"""The receive window: order out of any arrival, in a ring that never grows."""

import pytest

from ringcast.window import Admitted, ReceiveWindow
from unit.window.receiving import add, drain, marks, state, window_with

# ---- runs


def test_a_run_that_arrives_in_order_goes_through_uncopied() -> None:
    window = window_with()
    run = [1, 2, 3]
    window.add_run(1, run)
    assert window.take_ready()[1] is run


def test_what_the_application_does_to_a_run_does_not_touch_what_is_retained() -> None:
    window = window_with((1, 3))
    window.take_ready()[1].clear()
    assert window.get_run(1, 3) == [1, 2, 3]


def test_two_runs_between_two_takes_come_out_as_one() -> None:
    assert window_with((1, 2), (3, 5)).take_ready() == (1, [1, 2, 3, 4, 5])


@pytest.mark.parametrize(
    ("first", "last", "admitted", "ready"),
    [
        (1, 3, Admitted(0, 3, 0, 0), 3),
        (2, 4, Admitted(1, 2, 0, 0), 4),
        (4, 7, Admitted(2, 0, 2, 0), 8),
        (4, 12, Admitted(6, 0, 3, 0), 12),
        (1, 20, Admitted(7, 3, 6, 4), 16),
        (6, 7, Admitted(0, 0, 2, 0), 3),
        (5, 9, Admitted(2, 0, 3, 0), 3),
        (14, 18, Admitted(0, 0, 3, 2), 3),
        (17, 18, Admitted(0, 0, 0, 2), 3),
        (-5, 0, Admitted(0, 6, 0, 0), 3),
    ],
)
def test_a_run_is_taken_apart_at_what_is_here_and_what_fits(
    first: int, last: int, admitted: Admitted, ready: int
) -> None:
    """Here: 1-3, 6-8, 14-16 of 16."""
    window = window_with((1, 3), (6, 8), (14, 16), capacity=16)
    assert add(window, first, last) == admitted
    assert window.ready == ready
    window.check()
    assert window.get_run(1, 99) == list(range(1, ready + 1))


def test_an_empty_run_changes_nothing() -> None:
    window = window_with((1, 3), 5)
    before = state(window)
    for first in (4, 1, 5, 99):
        assert window.add_run(first, []) == Admitted(0, 0, 0, 0)
    assert state(window) == before


def test_the_first_copy_of_a_message_stays() -> None:
    window: ReceiveWindow[str] = ReceiveWindow(8)
    window.add_run(2, ["first"])
    window.add_run(1, ["one", "second", "three"])
    assert window.take_ready() == (1, ["one", "first", "three"])


@pytest.mark.parametrize("count", [63, 64, 65])
def test_the_count_of_an_in_order_run_is_right_around_the_prepared_answers(count: int) -> None:
    assert add(window_with(capacity=100), 1, count) == Admitted(count, 0, 0, 0)


# ---- marks


def test_a_retaining_window_accepts_up_to_stable_plus_capacity() -> None:
    window = window_with((1, 10), capacity=10)
    drain(window)
    assert add(window, 11).beyond == 1
    window.advance_stable(4)
    assert add(window, 11, 15) == Admitted(4, 0, 0, 1)


def test_a_window_that_retains_nothing_accepts_up_to_taken_plus_capacity() -> None:
    window = window_with((1, 10), capacity=10, retain=False)
    window.take_ready()
    assert add(window, 11).beyond == 1
    window.mark_taken(4)
    window.advance_stable(9)
    assert (window.stable, add(window, 11, 15)) == (4, Admitted(4, 0, 0, 1))


def test_a_low_above_taken_frees_what_was_handed_out() -> None:
    """A sender's own messages count as acked when ready, and a merge may give an offset the reader has not reached."""
    window = window_with((1, 10), capacity=10)
    window.take_ready()
    window.advance_stable(10)
    assert (marks(window), window.taken, window.limit) == ((10, 10, 10), 0, 20)
    assert window.mark_taken(10) == 10


def test_a_low_above_handed_frees_only_when_handed_out() -> None:
    """While a cut holds delivery back nothing may be written over what still has to be delivered."""
    window = window_with((1, 10), capacity=10)
    window.take_ready(upto=3)
    window.advance_stable(8)
    assert (marks(window), window.limit) == ((3, 3, 10), 13)
    assert window.take_ready() == (4, list(range(4, 11)))
    assert (marks(window), window.limit) == ((8, 10, 10), 18)


def test_taking_counts_each_message_once() -> None:
    window = window_with((1, 10))
    window.take_ready()
    assert [window.mark_taken(upto) for upto in (4, 4, 3, 10)] == [4, 0, 0, 6]


def test_a_message_nobody_was_handed_cannot_be_taken_and_nothing_changes() -> None:
    window = window_with((1, 10))
    window.take_ready(upto=4)
    before = state(window)
    with pytest.raises(AssertionError, match="taken 5 is above handed 4"):
        window.mark_taken(5)
    assert state(window) == before


def test_a_cut_below_what_was_handed_out_takes_nothing() -> None:
    window = window_with((1, 10))
    window.take_ready(upto=4)
    assert window.take_ready(upto=2) == (5, [])
    assert window.handed == 4


# ---- repair


def test_missing_is_bounded_in_ranges_and_in_messages() -> None:
    window = window_with(3, 6, 10)
    assert window.missing(10, 100) == [(1, 2), (4, 5), (7, 9)]
    assert window.missing(2, 100) == [(1, 2), (4, 5)]
    assert window.missing(10, 5) == [(1, 2), (4, 5), (7, 7)]
    assert window.missing(10, 4) == [(1, 2), (4, 5)]
    assert (window.missing(0, 100), window.missing(10, 0)) == ([], [])


@pytest.mark.parametrize(
    ("upto", "gaps"), [(0, []), (1, [(1, 1)]), (3, [(1, 2)]), (4, [(1, 2), (4, 4)]), (8, [(1, 2), (4, 5), (7, 8)])]
)
def test_missing_up_to_what_was_known_an_interval_ago(upto: int, gaps: list[tuple[int, int]]) -> None:
    assert window_with(3, 6, 10).missing(10, 100, upto) == gaps


def test_missing_may_be_asked_up_to_a_cut_that_was_never_announced() -> None:
    window = window_with((1, 3), capacity=8)
    assert window.missing(10, 100, 6) == [(4, 6)]
    assert window.missing(10, 100, 99) == [(4, 8)]


def test_an_announced_tail_is_missing_but_never_beyond_the_limit() -> None:
    window = window_with((1, 3), capacity=8)
    window.note_highest(5)
    assert (window.missing(10, 100), window.occupancy) == ([(4, 5)], 3)
    window.note_highest(4)
    assert window.highest == 5
    window.note_highest(99)
    assert (window.highest, window.missing(10, 100)) == (8, [(4, 8)])


def test_an_announced_tail_arrives_like_any_run() -> None:
    window = window_with((1, 3))
    window.note_highest(6)
    assert add(window, 4, 6) == Admitted(3, 0, 0, 0)
    assert (window.take_ready(), window.missing(10, 100)) == ((1, [1, 2, 3, 4, 5, 6]), [])


@pytest.mark.parametrize(
    ("first", "last", "held"),
    [(2, 4, []), (3, 4, [3, 4]), (4, 99, [4, 5]), (6, 9, []), (8, 9, [8, 9]), (9, 99, [9]), (10, 10, []), (5, 4, [])],
)
def test_a_run_for_repair_is_what_is_held_from_its_first_on(first: int, last: int, held: list[int]) -> None:
    """Held: 3-5 and 8-9; 1-2 are stable."""
    window = window_with((1, 5), (8, 9))
    drain(window)
    window.advance_stable(2)
    assert window.get_run(first, last) == held
    assert window.holds(first) == (first in (3, 4, 5, 8, 9))


def test_what_lies_behind_a_gap_is_listed_within_a_bound() -> None:
    window = window_with((1, 3), (5, 6), 9, (12, 14))
    assert window.beyond(10) == ((5, 6), (9, 9), (12, 14))
    assert window.beyond(2) == ((5, 6), (9, 9))
    assert window.beyond(0) == ()
    add(window, 4)
    assert window.beyond(10) == ((9, 9), (12, 14))
