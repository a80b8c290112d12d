"""The agreed cut of a member that is going away: arithmetic only (G5, X7)."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ringcast.core.control import Holding, Source
from ringcast.core.membership.cut import agreed_cut
from ringcast.model import Address

A, B, C, G = (Address(name, 1, f"mem:{name}") for name in "ABCG")


def held(freed: int, ready: int, *beyond: tuple[int, int]) -> Holding:
    return Holding(G, freed, ready, beyond)


def test_what_all_have_needs_no_source() -> None:
    assert agreed_cut(G, {A: held(0, 5), B: held(2, 5)}) == (5, [])


def test_what_only_one_has_comes_from_it_x7() -> None:
    assert agreed_cut(G, {A: held(0, 9), B: held(1, 10)}) == (10, [Source(G, 10, 10, B, 1)])


def test_pieces_of_several_make_a_whole() -> None:
    cut, sources = agreed_cut(G, {B: held(0, 5, (7, 8)), C: held(0, 4, (6, 6))})
    assert cut == 8
    assert sources == [Source(G, 5, 5, B, 0), Source(G, 6, 6, C, 0), Source(G, 7, 8, B, 0)]


def test_what_lies_behind_a_gap_that_nobody_fills_is_dropped() -> None:
    assert agreed_cut(G, {B: held(0, 5, (7, 8)), C: held(0, 4)}) == (5, [Source(G, 5, 5, B, 0)])


holdings = st.builds(
    lambda ready, gaps: held(0, ready, *[(ready + 1 + g, ready + 1 + g) for g in sorted(gaps)]),
    st.integers(0, 10),
    st.sets(st.integers(1, 6), max_size=4),
)


@given(st.lists(holdings, min_size=1, max_size=3))
def test_the_cut_is_the_highest_up_to_which_somebody_holds_everything(given_holdings: list[Holding]) -> None:
    members = dict(zip((A, B, C), given_holdings, strict=False))
    cut, sources = agreed_cut(G, members)
    everywhere = [
        {n for n in range(1, 30) if n <= h.ready or any(a <= n <= b for a, b in h.beyond)} for h in members.values()
    ]
    union = set().union(*everywhere)
    assert all(n in union for n in range(1, cut + 1)) and cut + 1 not in union
    named = {n for s in sources for n in range(s.first, s.last + 1)}
    assert named == set(range(min(h.ready for h in members.values()) + 1, cut + 1))
    for source in sources:
        holder = list(members).index(source.holder)
        assert set(range(source.first, source.last + 1)) <= everywhere[holder]
