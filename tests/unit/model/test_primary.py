"""Who may go on: majorities of the last primary view, and of those that may have followed it."""

from __future__ import annotations

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from ringcast.model import Address, Electorate, Mark, ViewId, combined, first_mark

A, B, C, D, E = MEMBERS = tuple(Address(name, 1, f"mem:{name}") for name in "ABCDE")


def voters(number: int, *members: Address) -> Electorate:
    return Electorate(ViewId(number, members[0]), members)


def test_more_than_half_carry_and_exactly_half_only_with_the_first() -> None:
    four = voters(1, A, B, C, D)
    assert four.is_carried_by([A, B]) and not four.is_carried_by([C, D])
    assert four.is_carried_by([B, C, D]) and not four.is_carried_by([D])


@given(st.lists(st.sampled_from(MEMBERS), unique=True, min_size=1).map(tuple))
def test_of_two_sides_at_most_one_carries(members: tuple[Address, ...]) -> None:
    electorate = Electorate(ViewId(1, members[0]), members)
    for size in range(len(members) + 1):
        for side in combinations(members, size):
            other = [member for member in members if member not in side]
            assert electorate.is_carried_by(side) != electorate.is_carried_by(other)


def test_a_view_that_may_have_come_about_must_be_carried_too() -> None:
    """A, B and C were about to go on; C, which installed that view, may not go on with D and E instead."""
    mark = Mark(voters(1, *MEMBERS), (voters(2, A, B, C),))
    assert not mark.decided_for([C, D, E]).is_primary
    assert mark.decided_for([B, C, D]).is_primary


def test_what_has_formed_replaces_what_was_before() -> None:
    before = Mark(voters(1, *MEMBERS)).decided_for([A, B, C]).installed(ViewId(2, A), (A, B, C))
    assert before.attempts == (voters(2, A, B, C),)
    after = before.formed(ViewId(2, A), (A, B, C))
    assert after.last == voters(2, A, B, C) and after.attempts == ()
    assert after.decided_for([B, C]).is_primary and not before.decided_for([B, C]).is_primary


def test_together_members_know_the_latest_and_all_that_may_have_followed() -> None:
    old = Mark(voters(1, *MEMBERS), (voters(2, A, B, C),))
    new = Mark(voters(3, A, B), (voters(4, A),))
    assert combined([old, None, new]) == Mark(voters(3, A, B), (voters(4, A),))
    assert combined([None]) is None


def test_a_view_that_is_not_primary_leaves_no_trace() -> None:
    mark = Mark(voters(1, *MEMBERS)).decided_for([D, E])
    assert not mark.is_primary and mark.installed(ViewId(2, D), (D, E)) == mark


def test_before_the_first_primary_view_more_than_half_of_the_expected_are_needed() -> None:
    assert first_mark(A, 0).decided_for([A]).is_primary
    assert not first_mark(A, 4).decided_for([A, B]).is_primary
    assert first_mark(A, 4).decided_for([A, B, C]).is_primary
    assert not first_mark(A, 0).decided_for([]).is_primary  # observers alone
