"""The receive window: order out of any arrival, in a ring that never grows."""

import random

import pytest

from ringcast.window import Admitted, ReceiveWindow

Window = ReceiveWindow[int]


def window_with(*runs: int | tuple[int, int], capacity: int = 32, offset: int = 0, retain: bool = True) -> Window:
    """Each message has its own seqno as payload."""
    window: Window = ReceiveWindow(capacity, offset, retain)
    for run in runs:
        first, last = (run, run) if isinstance(run, int) else run
        add(window, first, last)
    return window


def add(window: Window, first: int, last: int | None = None) -> Admitted:
    return window.add_run(first, list(range(first, (first if last is None else last) + 1)))


def marks(window: Window) -> tuple[int, int, int]:
    """[low|delivered|high] in the notation of the scenarios."""
    window.check()
    return window.freed, window.handed, window.highest


def state(window: Window) -> tuple[object, ...]:
    held = [window.get_run(seqno, seqno) for seqno in range(window.freed + 1, window.freed + window.capacity + 1)]
    return (
        *marks(window),
        window.stable,
        window.taken,
        window.ready,
        window.limit,
        window.is_orphaned,
        window.capacity,
        held,
    )


def drain(window: Window) -> list[int]:
    """Take everything and read it."""
    first, items = window.take_ready()
    window.mark_taken(first + len(items) - 1)
    return items


# ---- scenarios


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


# ---- orphans and views


def test_x8_a_low_above_what_we_have_orphans_the_window() -> None:
    """X8: the sender no longer counts us: nothing more becomes ready, nothing is asked for, and it shows."""
    window = window_with((1, 3), 6)
    window.take_ready(upto=2)
    window.advance_stable(4)
    assert window.is_orphaned
    assert add(window, 4, 5) == Admitted(0, 0, 0, 2)
    assert (window.ready, window.missing(10, 100)) == (3, [])
    window.check()


@pytest.mark.parametrize("retain", [True, False])
def test_x8_a_low_equal_to_what_we_have_is_no_orphan(retain: bool) -> None:
    window = window_with((1, 3), retain=retain)
    window.advance_stable(3)
    assert not window.is_orphaned
    window.advance_stable(4)
    assert window.is_orphaned


def test_an_orphan_still_hands_out_and_gives_away_what_it_had() -> None:
    window = window_with((1, 3), 6)
    window.advance_stable(4)
    assert window.get_run(1, 3) == [1, 2, 3]
    assert drain(window) == [1, 2, 3]
    window.advance_stable(2)
    assert (window.freed, window.limit, add(window, 4).beyond) == (2, 3, 1)
    window.check()


def test_a_reset_starts_behind_the_offset_and_ends_being_an_orphan() -> None:
    window = window_with((1, 3), 6)
    window.advance_stable(4)
    window.reset(20)
    assert (marks(window), window.occupancy, window.is_orphaned) == ((20, 20, 20), 0, False)
    assert add(window, 20, 22) == Admitted(2, 1, 0, 0)
    assert window.take_ready() == (21, [21, 22])


def test_a_reset_forgets_what_was_ready_and_what_lay_beyond_a_gap() -> None:
    window = window_with((1, 3), 6)
    window.reset(3)
    assert (window.take_ready(), window.occupancy, window.holds(6)) == ((4, []), 0, False)


def test_a_reset_never_goes_back_and_then_changes_nothing() -> None:
    window = window_with((1, 3), 6)
    before = state(window)
    with pytest.raises(ValueError, match="ready up to 3 cannot go back to 2"):
        window.reset(2)
    assert state(window) == before


def test_reading_what_came_before_a_reset_counts_no_more() -> None:
    window = window_with((1, 3))
    window.take_ready()
    window.reset(20)
    assert (window.mark_taken(3), window.taken) == (0, 20)


def test_a_ring_grows_at_once_with_what_it_holds() -> None:
    window = window_with((1, 5), (7, 8), capacity=8)
    window.take_ready(upto=3)
    window.advance_stable(3)
    assert window.resize(20) is True
    assert (window.get_run(4, 5), window.get_run(7, 8), window.limit) == ([4, 5], [7, 8], 23)
    add(window, 6)
    assert window.take_ready() == (4, [4, 5, 6, 7, 8])
    window.check()


def test_a_ring_is_not_shrunk_while_it_holds_anything() -> None:
    window = window_with((1, 3), capacity=8)
    drain(window)
    before = state(window)
    assert window.resize(4) is False
    assert state(window) == before
    window.advance_stable(3)
    assert window.resize(4) is True
    assert (window.capacity, window.limit, add(window, 4, 8)) == (4, 7, Admitted(4, 0, 0, 1))


def test_a_shrunk_ring_forgets_a_tail_it_could_not_hold() -> None:
    window = window_with(capacity=8)
    window.note_highest(7)
    window.resize(4)
    assert (window.highest, window.missing(10, 100)) == (4, [(1, 4)])
    window.check()


def test_an_orphan_stays_one_through_a_resize() -> None:
    window = window_with(capacity=8)
    window.advance_stable(3)
    window.resize(16)
    assert add(window, 1).beyond == 1
    window.check()


@pytest.mark.parametrize("capacity", [0, -1])
def test_a_resize_to_nothing_is_refused_and_changes_nothing(capacity: int) -> None:
    window = window_with(capacity=8)
    before = state(window)
    with pytest.raises(ValueError, match=f"at least 1, not {capacity}"):
        window.resize(capacity)
    assert state(window) == before


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("freed", 2),
        ("stable", 9),
        ("stable", 0),
        ("taken", 4),
        ("handed", 6),
        ("handed", 0),
        ("ready", 6),
        ("ready", 9),
        ("highest", 7),
        ("highest", 10),
        ("limit", 10),
        ("is_orphaned", True),
        ("retain", False),
        ("_fresh", [1]),
    ],
)
def test_check_finds_a_broken_window(field: str, value: object) -> None:
    window = window_with((1, 5), (7, 8), capacity=8)
    window.take_ready(upto=3)
    window.mark_taken(2)
    window.advance_stable(1)
    window.check()
    setattr(window, field, value)
    with pytest.raises(AssertionError):
        window.check()
