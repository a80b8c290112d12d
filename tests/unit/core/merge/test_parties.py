"""Who takes part and who leads: the M scenarios about views, as a table."""

import pytest

from ringcast.core.merge import choose_leader, parties_of, sanitised
from ringcast.core.merge.election import coordinators
from ringcast.model import Address, View, ViewId


def member(name: str) -> Address:
    return Address(name, 0, f"{name}:1")


def views(text: str) -> dict[Address, View]:
    """`A:AB B,C:BC/9` = A's view is {A,B}; B and C share {B,C}, number 9. Without a number the views count up."""
    out = {}
    for place, part in enumerate(text.split(), start=1):
        holders, _, content = part.partition(":")
        names, _, number = content.partition("/")
        members = tuple(map(member, names))
        for holder in holders.split(","):
            out[member(holder)] = View(ViewId(int(number or place), members[0]), members)
    return out


def names(members: tuple[Address, ...]) -> str:
    return "".join(m.name for m in members)


@pytest.mark.parametrize(
    ("scenario", "given", "expected"),
    [
        ("M01 nothing changes", "A,B:AB C,D:CD", "AB AB CD CD"),
        ("M02 A shrinks to itself", "A:ABC B,C:BC", "A BC BC"),
        ("M03 sizes 1,1,1,2", "A:AB B:BC C:CD D:DE", "A B C DE"),
        ("M05 A's view is led by another", "A:BAC B,C:BC", "A BC BC"),
        ("M12 B does not have A", "A:AB B:B", "A B"),
        ("M24", "A:AC B,C:ABC", "A BC BC"),
        ("M25 same creator, another number", "A,B:AB/5 C:ABC/4", "AB AB C"),
        ("cyclic: nobody is first in its own view", "A:BA B:CB C:AC", "A B C"),
    ],
)
def test_views_lose_the_members_whose_own_view_is_another(scenario: str, given: str, expected: str) -> None:
    assert " ".join(names(members) for members in sanitised(views(given)).values()) == expected, scenario


def test_m05_the_coordinator_is_b_and_both_are_asked() -> None:
    held = views("A:BAC B,C:BC")
    assert coordinators(held) == [member("B")]
    assert [party.coordinator for party in parties_of(held)] == [member("A"), member("B")]
    assert choose_leader(held) == member("B")


@pytest.mark.parametrize(
    ("scenario", "given", "leader"),
    [
        ("lowest of the coordinators", "C,D:CD A,B:AB", "A"),
        ("the lowest address is no coordinator", "A,B:BA C:C", "B"),
        ("M22 the lowest address is gone", "3,4,5,6:34567/7 7:234567/6", "3"),
        ("M25", "A,B:AB/5 C:ABC/4", "A"),
        ("cyclic views: lowest creator that is there", "A:BA B:CB C:AC", "A"),
        ("cyclic views whose creators are gone", "A:XA B:YB", "A"),
    ],
)
def test_the_leader_is_the_lowest_actual_coordinator_else_creator(scenario: str, given: str, leader: str) -> None:
    assert choose_leader(views(given)) == member(leader), scenario


def test_one_party_for_each_view_in_the_order_of_the_view() -> None:
    parties = parties_of(views("B,A:AB C,D:CD"))
    assert [(party.coordinator.name, names(party.members)) for party in parties] == [("A", "AB"), ("C", "CD")]


def test_m22_who_was_asked_and_is_silent_is_no_party_and_no_member() -> None:
    held = views("3,4,5,6:34567/7 7:234567/6")
    parties = parties_of(held, silent=[member("2")])
    assert [(party.coordinator.name, names(party.members)) for party in parties] == [("3", "3456"), ("7", "7")]


def test_a_member_of_whom_nothing_is_known_stays_where_the_latest_view_has_it() -> None:
    parties = parties_of(views("A:AX/3 B:BX/4"))
    assert [names(party.members) for party in parties] == ["A", "BX"]


def test_if_the_coordinator_of_a_view_has_gone_the_first_that_answered_speaks() -> None:
    parties = parties_of(views("A:AC B,C:ABC/2"))
    assert [(party.coordinator.name, names(party.members)) for party in parties] == [("A", "A"), ("B", "BC")]


def test_who_only_announced_its_view_does_not_speak_for_those_who_answered() -> None:
    """Simulated seed 40490: the only voter of a party had died behind its announcement, and was asked for ever."""
    a, d, f, g = map(member, "ADFG")
    mine, theirs = View(ViewId(1, a), (a,)), View(ViewId(2, d), (d, f, g), observers=(f, g))
    held = {a: mine, d: theirs, f: theirs, g: theirs}
    assert [party.coordinator for party in parties_of(held, acting={f: f, g: f})] == [a, f]
    assert [party.coordinator for party in parties_of(held, acting={d: d, f: d, g: d})] == [a, d]
    assert [party.coordinator for party in parties_of(held)] == [a, d]


def test_an_observer_speaks_only_if_there_is_nobody_else() -> None:
    a, b, c = map(member, "ABC")
    both = View(ViewId(1, a), (a, b), observers=(a,))
    alone = View(ViewId(1, c), (c,), observers=(c,))
    parties = parties_of({a: both, b: both, c: alone})
    assert [party.coordinator for party in parties] == [b, c]
    assert choose_leader({a: both, b: both, c: alone}) == b
