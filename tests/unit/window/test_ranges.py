"""Seqnos kept as ranges: what lies beyond a gap, what was requested."""

import pytest

from ringcast.window import Ranges


def test_w27_a_request_list_is_cut_from_above() -> None:
    """W27: {1,10..15}: drop >14 -> 6 left; drop >3 -> 1 left."""
    requested = Ranges([(1, 1), (10, 15)])
    requested.drop_above(14)
    assert (requested.count, list(requested)) == (6, [(1, 1), (10, 14)])
    requested.drop_above(3)
    assert (requested.count, list(requested)) == (1, [(1, 1)])
    requested.drop_above(0)
    assert (requested.count, list(requested)) == (0, [])


@pytest.mark.parametrize(
    ("added", "expected"),
    [
        ((1, 3), [(1, 3), (10, 12), (20, 22)]),
        ((8, 9), [(8, 12), (20, 22)]),
        ((13, 14), [(10, 14), (20, 22)]),
        ((13, 19), [(10, 22)]),
        ((14, 18), [(10, 12), (14, 18), (20, 22)]),
        ((11, 11), [(10, 12), (20, 22)]),
        ((5, 30), [(5, 30)]),
        ((24, 24), [(10, 12), (20, 22), (24, 24)]),
        ((9, 8), [(10, 12), (20, 22)]),
    ],
)
def test_a_range_joins_those_that_it_overlaps_or_touches(
    added: tuple[int, int], expected: list[tuple[int, int]]
) -> None:
    ranges = Ranges([(10, 12), (20, 22)])
    ranges.add(*added)
    ranges.check()
    assert list(ranges) == expected


@pytest.mark.parametrize(
    ("asked", "gaps"),
    [
        ((1, 9), [(1, 9)]),
        ((1, 10), [(1, 9)]),
        ((10, 12), []),
        ((11, 21), [(13, 19)]),
        ((1, 30), [(1, 9), (13, 19), (23, 30)]),
        ((23, 24), [(23, 24)]),
        ((5, 4), []),
    ],
)
def test_gaps_are_what_is_not_in_the_set(asked: tuple[int, int], gaps: list[tuple[int, int]]) -> None:
    assert list(Ranges([(10, 12), (20, 22)]).gaps(*asked)) == gaps


def test_membership_and_the_end_of_a_range() -> None:
    ranges = Ranges([(10, 12), (20, 20)])
    assert [seqno for seqno in range(9, 22) if seqno in ranges] == [10, 11, 12, 20]
    assert (ranges.end_of(10), ranges.end_of(12), ranges.end_of(13), ranges.end_of(21)) == (12, 12, None, None)
    assert len(ranges) == 2


def test_clear_empties_the_set() -> None:
    ranges = Ranges([(10, 12), (20, 20)])
    ranges.clear()
    assert (list(ranges), ranges.count, len(ranges)) == ([], 0, 0)


@pytest.mark.parametrize(
    ("firsts", "lasts", "count"),
    [
        ([1, 5], [3], 3),
        ([5], [4], 0),
        ([1, 4], [3, 6], 6),
        ([7, 1], [9, 3], 6),
        ([1], [3], 2),
    ],
)
def test_check_finds_a_broken_set(firsts: list[int], lasts: list[int], count: int) -> None:
    ranges = Ranges()
    ranges._firsts, ranges._lasts, ranges.count = firsts, lasts, count
    with pytest.raises((AssertionError, ValueError)):
        ranges.check()
