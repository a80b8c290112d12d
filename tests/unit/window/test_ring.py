"""The ring: runs by seqno."""

import random

import pytest

from ringcast.window import Ring


def held(ring: Ring[int]) -> list[int]:
    """The numbers that are there, where every item is its own seqno; a run that was freed in part counts in full."""
    found = list(ring.items())
    assert [seqno for seqno, _ in found] == [item for _, item in found]
    return [seqno for seqno, _ in found]


def ring_of(*runs: tuple[int, int], capacity: int = 1_000) -> Ring[int]:
    ring: Ring[int] = Ring(capacity)
    for first, last in runs:
        ring.put_run(first, list(range(first, last + 1)))
    return ring


@pytest.mark.parametrize("start", [-3, 0, 1, 7, 2**63 - 6])
def test_a_run_comes_back_whole_or_in_part(start: int) -> None:
    ring = ring_of((start, start + 4))
    run = list(range(start, start + 5))
    assert ring.slice(start, start + 4) == run
    assert ring.slice(start + 1, start + 2) == run[1:3]


def test_a_slice_may_span_runs() -> None:
    ring = ring_of((1, 3), (4, 4), (5, 8))
    assert ring.slice(2, 6) == [2, 3, 4, 5, 6]


def test_runs_behind_a_gap_and_into_it_are_found() -> None:
    ring = ring_of((1, 2), (7, 9), (5, 6), (3, 4))
    assert ring.slice(1, 9) == list(range(1, 10))


def test_freeing_forgets_runs_with_their_last_message() -> None:
    ring = ring_of((1, 3), (4, 6))
    ring.free(2)
    assert ring.slice(3, 6) == [3, 4, 5, 6]
    ring.free(4)
    assert held(ring) == [4, 5, 6]
    ring.free(6)
    assert held(ring) == []


def test_freeing_many_short_runs_keeps_no_trace_of_them() -> None:
    ring = ring_of(*((seqno, seqno) for seqno in range(100)))
    for seqno in range(90):
        ring.free(seqno)
    assert held(ring) == list(range(90, 100))
    assert len(ring._firsts) < 30


def test_clearing_leaves_the_neighbours() -> None:
    ring = ring_of((2, 5), (6, 7), (8, 9))
    ring.clear(4, 8)
    assert held(ring) == [2, 3, 9]
    ring.put_run(4, [4, 5, 6, 7, 8])
    assert ring.slice(2, 9) == list(range(2, 10))


def test_clearing_inside_a_run_leaves_both_ends() -> None:
    ring = ring_of((1, 5))
    ring.clear(3, 3)
    assert held(ring) == [1, 2, 4, 5]


def test_an_empty_run_changes_nothing() -> None:
    ring = ring_of((1, 3))
    ring.put_run(2, [])
    ring.clear(2, 1)
    assert ring.slice(1, 3) == [1, 2, 3]
    assert ring.slice(2, 1) == []


def test_putting_a_list_keeps_no_hold_on_it() -> None:
    ring: Ring[int] = Ring(3)
    run = [1, 2]
    ring.put_run(1, run)
    run.clear()
    assert ring.slice(1, 2) == [1, 2]


def test_clear_all_empties_it() -> None:
    ring = ring_of((1, 3))
    ring.clear_all()
    assert held(ring) == []


@pytest.mark.parametrize("seed", range(20))
def test_it_holds_what_a_dictionary_would(seed: int) -> None:
    draw = random.Random(f"ring {seed}")
    ring: Ring[int] = Ring(200)
    model: dict[int, int] = {}
    freed = 0
    for _ in range(300):
        first = freed + draw.randint(1, 60)
        last = first + draw.randint(0, 6)
        kind = draw.randrange(4)
        if kind < 2 and not any(seqno in model for seqno in range(first, last + 1)):
            ring.put_run(first, list(range(first, last + 1)))
            model |= {seqno: seqno for seqno in range(first, last + 1)}
        elif kind == 2 and last > freed + 30:
            ring.clear(first, last)
            model = {seqno: seqno for seqno in model if not first <= seqno <= last}
        elif kind == 3:
            freed += draw.randint(0, 5)
            ring.free(freed)
            model = {seqno: seqno for seqno in model if seqno > freed}
        assert [seqno for seqno in held(ring) if seqno > freed] == sorted(model)


@pytest.mark.parametrize("capacity", [0, -1])
def test_a_ring_without_room_is_refused(capacity: int) -> None:
    with pytest.raises(ValueError, match=f"at least 1, not {capacity}"):
        Ring(capacity)
