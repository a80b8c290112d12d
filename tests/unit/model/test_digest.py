"""Digests: the join of two, completeness, and the figures of the seeds."""

import pytest

from ringcast.model import Address, Digest, Entry

A, B, C, D = (Address(name, 1, f"mem:{name}") for name in "ABCD")


def test_the_join_takes_the_maximum_of_each_figure_d01() -> None:
    mine = Digest.of([A, B, C], [499, 502, 26, 27, 26, 35])
    theirs = Digest.of([A, B, C], [500, 501, 26, 26, 25, 33])
    assert mine.merge(theirs) == Digest.of([A, B, C], [500, 502, 26, 27, 26, 35])


def test_setting_the_entry_of_a_stranger_changes_nothing_d03() -> None:
    digest = Digest.of([A, B], [1, 1, 2, 2])
    assert digest.with_entry([A, B], C, Entry(0, 5, 5)) is digest
    assert digest.with_entry([A, B], B, Entry(0, 5, 5))[B] == Entry(0, 5, 5)
    assert digest[B] == Entry(0, 2, 2), "a digest never changes"


def test_a_digest_names_the_members_it_lacks_d04() -> None:
    members = [Address(f"m{number}", 1, f"mem:{number}") for number in range(5)]
    digest = Digest({members[number]: Entry(0, 0, 0) for number in (1, 3, 4)})
    assert digest.missing(members) == [members[0], members[2]]


def test_figures_that_do_not_fit_the_members_are_refused_d05() -> None:
    with pytest.raises(ValueError, match="7 numbers for 3 members, expected 6"):
        Digest.of([A, B, C], [1, 2, 3, 4, 5, 6, 7])


def test_a_thousand_members_keep_their_figures_and_their_order_d06() -> None:
    members = [Address(f"m{number}", number, f"mem:{number}") for number in range(1000)]
    digest = Digest({member: Entry(number, number + 1, number + 2) for number, member in enumerate(members)})
    again = Digest.of(members, [n for m in members for n in (digest[m].delivered, digest[m].received)])
    assert list(again) == list(digest) == members
    assert [again[m].received for m in members] == [digest[m].received for m in members]


def test_seed_000_overlap_takes_the_maximum_of_all_seqnos_d07() -> None:
    of_a = Digest({A: Entry(7, 20, 20)})
    of_b = Digest({A: Entry(2, 10, 10), B: Entry(5, 25, 25)})
    assert of_a.merge(of_b) == of_b.merge(of_a) == Digest({A: Entry(7, 20, 20), B: Entry(5, 25, 25)})
    assert of_a.overlap(of_b) == [A]
    later = Digest({A: Entry(7, 21, 21)})
    assert later.merge(of_b)[A] == Entry(7, 21, 21)
