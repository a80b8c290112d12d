"""Addresses and views: order, print, incarnations, coordinator."""

import pytest

from ringcast.model import Address, View, ViewId, check_name

A, B, C = (Address(name, 1, f"mem:{name}") for name in "ABC")


def test_addresses_are_ordered_by_name_then_incarnation() -> None:
    older, newer = Address("A", 1, "x"), Address("A", 2, "x")
    assert sorted([B, newer, older]) == [older, newer, B]


def test_a_restarted_process_is_another_member_and_its_successor() -> None:
    older, newer = Address("A", 1, "mem:A"), Address("A", 2, "mem:A")
    assert older != newer
    assert newer.is_successor_of(older) and not older.is_successor_of(newer)
    assert not newer.is_successor_of(Address("A", 1, "elsewhere"))


def test_an_address_prints_its_name_and_incarnation() -> None:
    assert str(Address("A", 0, "x")) == "A#0"
    assert str(Address("A", 36 * 36 + 35, "x")) == "A#10z"


@pytest.mark.parametrize("name", ["", "a b", "a#b", "a/b", "a,b", "a\n", "x" * 65])
def test_a_bad_name_is_told(name: str) -> None:
    assert check_name(name) is not None


def test_view_ids_are_ordered_by_number_then_creator() -> None:
    assert ViewId(1, B) < ViewId(2, A) < ViewId(2, B)


def test_the_coordinator_is_the_first_member_that_is_no_observer() -> None:
    assert View(ViewId(1, A), (A, B, C)).coordinator == A
    assert View(ViewId(1, A), (A, B, C), observers=(A,)).coordinator == B
    assert View(ViewId(1, A), (A,), observers=(A,)).coordinator is None


def test_the_leader_is_the_first_member_that_is_no_observer_and_not_out() -> None:
    view = View(ViewId(1, A), (A, B, C), observers=(B,))
    assert view.leader(lambda member: False) == A
    assert view.leader(lambda member: member == A) == C
    assert view.leader(lambda member: member != B) is None


def test_a_view_needs_distinct_members() -> None:
    for members in ((), (A, A)):
        with pytest.raises(ValueError, match="distinct members"):
            View(ViewId(1, A), members)


def test_a_view_knows_its_members_their_ranks_and_whether_it_merged() -> None:
    view = View(ViewId(3, A), (A, B), subgroups=((A,), (B,)))
    assert A in view and C not in view
    assert (view.rank(A), view.rank(B)) == (0, 1)
    assert view.is_merge and not View(ViewId(1, A), (A,)).is_merge
