"""Who watches whom: the same number each way, whatever the size; the other half watches a half that dies."""

import pytest

from ringcast.core.failure import watched, watchers
from ringcast.model import Address


def group(size: int) -> list[Address]:
    return [Address(f"m{rank:03}", 0, f"m:{rank}") for rank in range(size)]


@pytest.mark.parametrize("size", [1, 2, 3, 6, 7, 8, 9, 20, 100])
@pytest.mark.parametrize("count", [1, 2, 3, 6, 7])
def test_everybody_watches_and_is_watched_by_the_same_number(size: int, count: int) -> None:
    members = group(size)
    for member in members:
        mine = watched(members, member, count)
        assert len(set(mine)) == len(mine) == min(count, size - 1)
        assert member not in mine
        assert all(member in watchers(members, other, count) for other in mine)
        assert len(watchers(members, member, count)) == min(count, size - 1)


def test_a_small_group_watches_everybody() -> None:
    members = group(7)
    assert watched(members, members[2], 6) == [*members[3:], *members[:2]]


@pytest.mark.parametrize("size", [10, 16, 64, 100])
def test_each_half_of_the_group_is_watched_from_the_other(size: int) -> None:
    members = group(size)
    first, second = members[: size // 2], members[size // 2 :]
    assert all(any(w in second for w in watchers(members, member, 6)) for member in first)
    assert all(any(w in first for w in watchers(members, member, 6)) for member in second)
