"""The receive window when the group changes: orphaned, reset, resized; and its own check."""

import pytest

from ringcast.window import Admitted
from unit.window.receiving import add, drain, marks, state, window_with


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
