"""The ring: seqnos to slots, runs by slice."""

import pytest

from ringcast.window import Ring


def test_any_capacity_consecutive_seqnos_have_a_slot_each() -> None:
    for start in (-3, 0, 1, 7, 2**63 - 3):
        ring: Ring[int] = Ring(5)
        run = list(range(start, start + 5))
        ring.put_run(start, run)
        assert [ring.get(seqno) for seqno in run] == run
        assert ring.slice(start, start + 4) == run


def test_a_run_that_wraps_comes_back_whole() -> None:
    ring: Ring[str] = Ring(4)
    ring.put_run(3, ["c", "d", "e"])
    assert ring.slice(3, 5) == ["c", "d", "e"]
    assert ring.slice(4, 5) == ["d", "e"]


def test_a_run_of_one_lands_in_the_last_and_the_first_slot() -> None:
    ring: Ring[str] = Ring(4)
    ring.put_run(3, ["last"])
    ring.put_run(4, ["first"])
    assert ring.slice(3, 4) == ["last", "first"]


def test_clearing_a_wrapped_run_leaves_its_neighbours() -> None:
    ring: Ring[int] = Ring(4)
    ring.put_run(2, [2, 3, 4, 5])
    ring.clear(3, 4)
    assert [ring.get(seqno) for seqno in (2, 3, 4, 5)] == [2, None, None, 5]


def test_clearing_one_slot_leaves_its_neighbours() -> None:
    ring: Ring[int] = Ring(3)
    ring.put_run(1, [1, 2, 3])
    ring.clear(2, 2)
    assert ring.slice(1, 3) == [1, None, 3]


def test_an_empty_run_changes_nothing() -> None:
    ring: Ring[int] = Ring(3)
    ring.put_run(1, [1, 2, 3])
    ring.put_run(2, [])
    ring.clear(2, 1)
    assert ring.slice(1, 3) == [1, 2, 3]
    assert ring.slice(2, 1) == []


def test_writing_a_run_keeps_no_hold_on_the_callers_list() -> None:
    ring: Ring[int] = Ring(3)
    run = [1, 2]
    ring.put_run(1, run)
    run.clear()
    assert ring.slice(1, 2) == [1, 2]


def test_clear_all_empties_every_slot() -> None:
    ring: Ring[int] = Ring(3)
    ring.put_run(1, [1, 2, 3])
    ring.clear_all()
    assert ring.slice(1, 3) == [None, None, None]


@pytest.mark.parametrize("capacity", [0, -1])
def test_a_ring_without_slots_is_refused(capacity: int) -> None:
    with pytest.raises(ValueError, match=f"at least 1, not {capacity}"):
        Ring(capacity)
