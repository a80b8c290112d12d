"""Digests: the scenarios D of the collection and the numbers of seed 000."""

import pytest

from ringcast.model import Address, Digest, Entry

A, B, C = (Address(name, 1, f"mem:{name}") for name in "ABC")
MEMBERS = tuple(Address(f"m{number}", 1, "mem:") for number in range(1000))


def test_d01_a_merge_takes_the_maximum_of_each_figure() -> None:
    one = Digest.of((A, B, C), (499, 502, 26, 27, 26, 35))
    two = Digest.of((A, B, C), (500, 501, 26, 26, 25, 33))
    expected = Digest.of((A, B, C), (500, 502, 26, 27, 26, 35))
    assert one.merge(two) == two.merge(one) == expected


def test_d03_setting_somebody_who_is_no_member_changes_nothing() -> None:
    digest = Digest.of((A, B), (1, 1, 2, 2))
    assert digest.with_entry((A, B), C, Entry(0, 9, 9)) is digest
    assert digest.with_entry((A, B), B, Entry(0, 9, 9))[B] == Entry(0, 9, 9)
    assert digest[B] == Entry(0, 2, 2), "the digest itself is never changed"


def test_d04_what_is_missing_is_named_in_order() -> None:
    five = MEMBERS[:5]
    digest = Digest({five[n]: Entry(0, n, n) for n in (1, 3, 4)})
    assert digest.missing(five) == [five[0], five[2]]
    assert digest.missing([five[1], five[3]]) == []


@pytest.mark.parametrize("count", [0, 5, 7])
def test_d05_a_wrong_number_of_figures_is_an_error_that_names_both(count: int) -> None:
    with pytest.raises(ValueError, match=f"{count} numbers for 3 members, expected 6"):
        Digest.of((A, B, C), range(count))


def test_d06_a_thousand_members_survive_a_round_trip() -> None:
    figures = [number for n in range(1000) for number in (n, n + 5)]
    digest = Digest.of(MEMBERS, figures)
    again = Digest({Address(*member): Entry(*entry) for member, entry in digest.entries.items()})
    assert again == digest
    assert list(again) == list(MEMBERS), "in the same order"
    assert again.merge(digest) == digest


def test_d07_the_numbers_of_seed_000() -> None:
    """A says A: 7 20 (20); B says A: 2 10 (10), B: 5 25 (25). Then A says 21."""
    from_a = Digest({A: Entry(7, 20, 20)})
    from_b = Digest({A: Entry(2, 10, 10), B: Entry(5, 25, 25)})
    merged = from_a.merge(from_b)
    assert merged == Digest({A: Entry(7, 20, 20), B: Entry(5, 25, 25)})
    assert [str(entry) for entry in merged.entries.values()] == ["7 20 (20)", "5 25 (25)"]
    assert from_a.overlap(from_b) == [A], "the seed asks for a warning"
    assert merged.merge(Digest({A: Entry(7, 21, 21)}))[A] == Entry(7, 21, 21)


def test_p20_seed_000_consolidates_two_sides_to_the_highest_each_knows() -> None:
    """A:20 B:10 with A:15 B:7 C:10 D:9, whichever side is heard first."""
    d = Address("D", 1, "mem:D")
    one = Digest({A: Entry(0, 20, 20), B: Entry(0, 10, 10)})
    two = Digest({A: Entry(0, 15, 15), B: Entry(0, 7, 7), C: Entry(0, 10, 10), d: Entry(0, 9, 9)})
    whole = one.merge(two)
    assert {member.name: entry.delivered for member, entry in whole.entries.items()} == {
        "A": 20,
        "B": 10,
        "C": 10,
        "D": 9,
    }
    assert two.merge(one) == whole
