"""Who may go on: majorities of the last primary view, and of those that may have followed it (G17)."""

from __future__ import annotations

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from ringcast.model import Address, Electorate, Mark, View, ViewId, combined, first_mark
from ringcast.model.majority import MAX_ATTEMPTS

A, B, C, D, E = MEMBERS = tuple(Address(name, 1, f"mem:{name}") for name in "ABCDE")


def voters(number: int, *members: Address) -> Electorate:
    return Electorate(ViewId(number, members[0]), members)


def again(member: Address) -> Address:
    return member._replace(incarnation=2)


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
    """A, B and C were about to go on; C, which recorded that view, may not go on with D and E instead."""
    mark = Mark(voters(1, *MEMBERS)).recorded(voters(2, A, B, C))
    assert not mark.is_carried_by([C, D, E])
    assert mark.is_carried_by([B, C, D])
    assert mark.without(ViewId(2, A)).is_carried_by([C, D, E])


def test_a_primary_view_replaces_what_was_before() -> None:
    before = Mark(voters(1, *MEMBERS), (voters(2, A, B, E),))
    primary = before.proposal(ViewId(3, A), [A, B, C])
    assert primary == voters(3, A, B, C)
    after = before.of_view([A, B, C], primary)
    assert (after.last, after.attempts, after.is_primary) == (voters(3, A, B, C), (), True)
    assert after.is_carried_by([B, C]) and not before.is_carried_by([B, C])


def test_newcomers_are_voters_of_the_view_but_do_not_carry_it() -> None:
    mark = Mark(voters(1, A, B, C))
    assert mark.proposal(ViewId(2, A), [A], [D, E]) is None
    assert mark.proposal(ViewId(2, A), [A, B], [D]) == Electorate(ViewId(2, A), (A, B, D))


def test_together_members_know_the_latest_and_all_that_may_have_followed() -> None:
    old = Mark(voters(1, *MEMBERS), (voters(2, A, B, C),))
    new = Mark(voters(3, A, B), (voters(4, A),))
    assert combined([old, None, new]) == Mark(voters(3, A, B), (voters(4, A),))
    assert combined([None]) is None


def test_a_process_that_remembers_votes_as_before_and_one_that_forgot_does_not() -> None:
    remembers = Mark(voters(1, A, B, C)).kept_by(again(B), B)
    assert remembers.is_carried_by([again(B), C])
    assert not Mark(voters(1, A, B, C)).is_carried_by([again(B), C])
    third = remembers.kept_by(B._replace(incarnation=3), again(B))
    assert third.votes_of([B._replace(incarnation=3)]) == (B,)
    assert remembers.proposal(ViewId(2, C), [again(B), C]) == Electorate(ViewId(2, C), (B, C))
    assert remembers.votes_of([B, again(B)]) == (B,)  # One vote, however often it is there.


def test_a_view_knows_the_votes_of_its_members_only() -> None:
    mark = combined([Mark(voters(1, A, B, C)).kept_by(again(A), A), Mark(voters(1, A, B, C)).kept_by(again(B), B)])
    assert mark is not None
    view = View(ViewId(2, C), (C, again(B)), mark=mark.of_view([C, again(B)]))
    assert view.mark is not None and view.mark.votes == ((again(B), B),)
    assert not view.is_primary and view.is_carried


def test_before_the_first_primary_view_more_than_half_of_the_expected_are_needed() -> None:
    assert first_mark(A, 0).is_carried_by([A])
    assert not first_mark(A, 4).is_carried_by([A, B])
    assert first_mark(A, 4).is_carried_by([A, B, C])
    assert not first_mark(A, 0).is_carried_by([])  # observers alone


def test_with_a_fixed_quorum_the_number_decides_whoever_was_there_before() -> None:
    mark = first_mark(A, 0, quorum=3)
    assert not mark.is_carried_by([A, B])
    primary = mark.proposal(ViewId(2, A), [A, B, C])
    assert mark.of_view([A, B, C], primary).is_carried_by([C, D, E])


def test_too_many_views_that_may_have_come_about_are_no_reason_to_forget_one() -> None:
    mark = Mark(voters(1, *MEMBERS))
    for number in range(2, 2 + MAX_ATTEMPTS):
        assert mark.proposal(ViewId(number, A), MEMBERS) is not None
        mark = mark.recorded(voters(number, *MEMBERS))
    assert mark.proposal(ViewId(99, A), MEMBERS) is None


def test_observers_who_are_there_are_not_waited_for_as_voters() -> None:
    """Seed 52: of seven that were expected four are observers, so three voters are all there can be."""
    mark = first_mark(A, 7)
    assert not mark.is_carried_by([A, B, C])
    assert mark.is_carried_by([A, B, C], observers=4)
    assert not mark.is_carried_by([A], observers=4)
    assert mark.proposal(ViewId(2, A), [A, B], observers=4) == Electorate(ViewId(2, A), (A, B))
