"""Who stays of members that do not hear each other: the largest set, by a rule that leads everybody to the same."""

from __future__ import annotations

from itertools import combinations
from random import Random

from ringcast.core.failure.largest_set import EXACT, who_stays
from ringcast.model import Address

NAMES = [f"m{number:02}" for number in range(40)]
MEMBERS = [Address(name, 0, f"{name}:1") for name in NAMES]
A, B, C, D, E = MEMBERS[:5]


def both(*links: tuple[Address, Address]) -> list[tuple[Address, Address]]:
    return [pair for a, b in links for pair in ((a, b), (b, a))]


def test_without_complaints_all_stay() -> None:
    assert who_stays([A, B, C], [], []) == (A, B, C)


def test_of_two_that_do_not_hear_each_other_the_later_goes() -> None:
    assert who_stays([A, B, C], [], both((B, C))) == (A, B)


def test_of_two_that_do_not_hear_each_other_an_observer_goes() -> None:
    assert who_stays([A, B, C], [B], both((B, C))) == (A, C)


def test_who_complains_alone_goes_itself() -> None:
    assert who_stays([A, B, C], [], [(A, C)]) == (B, C)
    assert who_stays([A, B, C, D], [], [(A, C), (A, D)]) == (B, C, D)


def test_a_complaint_that_another_member_makes_too_is_confirmed() -> None:
    assert who_stays([A, B, C, D], [], [(A, D), (B, D)]) == (A, B, C)


def test_three_that_do_not_hear_each_other_keep_the_first_beside_the_one_that_hears_all() -> None:
    assert who_stays([A, B, C, D], [], both((A, B), (A, C), (B, C))) == (A, D)
    assert who_stays([D, A, B, C], [], both((A, B), (A, C), (B, C))) == (D, A)


def test_of_a_chain_every_second_stays() -> None:
    links = [pair for pair in combinations([A, B, C, D], 2) if pair not in ((A, B), (B, C), (C, D))]
    assert who_stays([A, B, C, D], [], both(*links)) == (A, B)
    assert who_stays([A, B, C, D, E], [], both((A, B), (B, C), (C, D), (D, E))) == (A, C, E)


def test_observers_alone_are_no_group_where_anybody_else_could_stay() -> None:
    assert who_stays([A, B, C, D], [B, C, D], both((A, B), (A, C))) == (A, D)
    assert who_stays([A, B, C], [B, C], both((A, B), (A, C))) == (A,)


def test_a_complaint_about_who_is_gone_counts_for_nothing() -> None:
    assert who_stays([A, B], [], both((A, C), (B, C))) == (A, B)


def hears_each_other(kept: tuple[Address, ...], complaints: list[tuple[Address, Address]]) -> bool:
    return not any(by in kept and about in kept for by, about in complaints)


def test_no_other_set_is_larger_in_random_groups_of_eight() -> None:
    for number in range(300):
        random = Random(number)
        members = MEMBERS[:8]
        pairs = [(a, b) for a in members for b in members if a != b]
        complaints = random.sample(pairs, random.randint(1, 20))
        kept = who_stays(members, [], complaints)
        assert hears_each_other(kept, complaints)
        more = combinations(members, len(kept) + 1)
        assert not any(hears_each_other(others, complaints) for others in more)


def test_the_answer_does_not_depend_on_the_order_of_the_complaints() -> None:
    for number in range(100):
        random = Random(number)
        members = MEMBERS[: random.randint(4, 40)]
        complaints = random.sample([(a, b) for a in members for b in members if a != b], len(members))
        kept = who_stays(members, members[2:4], complaints)
        assert who_stays(members, members[2:4], random.sample(complaints, len(complaints))) == kept


def test_with_more_members_than_are_searched_nobody_goes_without_a_reason() -> None:
    for number in range(100):
        random = Random(number)
        complaints = both(*random.sample(list(combinations(MEMBERS, 2)), random.randint(EXACT, 200)))
        kept = who_stays(MEMBERS, [], complaints)
        assert hears_each_other(kept, complaints)
        for gone in MEMBERS:
            assert gone in kept or not hears_each_other((*kept, gone), complaints)


def test_one_that_hears_none_of_forty_goes_alone() -> None:
    assert who_stays(MEMBERS, [], [(A, other) for other in MEMBERS[1:]]) == tuple(MEMBERS[1:])
