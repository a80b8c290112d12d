"""Consolidation is a join on a lattice (G9), and applying a digest never goes back (G10)."""

from hypothesis import given
from hypothesis import strategies as st

from ringcast.core.merge import Aggregate, merge_view, parties_of, sanitised
from ringcast.model import Address, Digest, Entry, View, ViewId, ViewNumbers, consolidate, is_reset

MEMBERS = [Address(name, 0, f"{name}:1") for name in "ABCDE"]


@st.composite
def entries(draw: st.DrawFn) -> Entry:
    low, delivered, received = sorted(draw(st.tuples(*[st.integers(0, 50)] * 3)))
    return Entry(low, delivered, received)


digests = st.dictionaries(st.sampled_from(MEMBERS), entries()).map(Digest)


def content(digest: Digest) -> dict[Address, Entry]:
    return dict(digest.entries)


@given(digests, digests)
def test_merge_is_commutative(one: Digest, other: Digest) -> None:
    assert content(one.merge(other)) == content(other.merge(one))


@given(digests, digests, digests)
def test_merge_is_associative(one: Digest, two: Digest, three: Digest) -> None:
    assert content(one.merge(two).merge(three)) == content(one.merge(two.merge(three)))


@given(digests)
def test_merge_is_idempotent_and_has_nothing_as_its_neutral(one: Digest) -> None:
    assert content(one.merge(one)) == content(one) == content(one.merge(Digest())) == content(Digest().merge(one))


@given(st.lists(digests, max_size=5), st.randoms())
def test_the_order_in_which_subgroups_are_heard_cannot_matter_g9(heard: list[Digest], chance: object) -> None:
    whole, overlap = consolidate(heard)
    other = list(heard)
    chance.shuffle(other)  # type: ignore[attr-defined]
    again, overlap_again = consolidate(other)
    assert content(whole) == content(again)
    assert sorted(overlap) == sorted(overlap_again)


@given(st.lists(digests, max_size=5))
def test_each_entry_is_an_upper_bound_of_all_that_was_said_and_well_formed(heard: list[Digest]) -> None:
    whole, overlap = consolidate(heard)
    for member, entry in whole.entries.items():
        said = [digest[member] for digest in heard if member in digest]
        assert entry == Entry(*(max(column) for column in zip(*said, strict=True)))
        assert entry.low <= entry.delivered <= entry.received
        assert (member in overlap) == (len(said) > 1)


@given(st.integers(0, 50), st.integers(0, 50), st.booleans())
def test_a_window_never_goes_back_g10(ready: int, offset: int, was_apart: bool) -> None:
    after = offset if is_reset(ready, offset, was_apart=was_apart) else ready
    assert after >= ready and (was_apart or after == ready)
    assert not is_reset(after, offset, was_apart=was_apart)


numbers = st.integers(1, 5)


@st.composite
def held_views(draw: st.DrawFn) -> dict[Address, View]:
    """Any views whatever; one id has one content (G4), and whoever holds a view is in it."""
    contents: dict[ViewId, View] = {}
    held = {}
    for holder in draw(st.lists(st.sampled_from(MEMBERS), min_size=1, unique=True)):
        view_id = ViewId(draw(numbers), draw(st.sampled_from(MEMBERS)))
        view = contents.get(view_id)
        if view is None or holder not in view:
            members = draw(st.permutations([holder, *draw(st.lists(st.sampled_from(MEMBERS)))]).map(dict.fromkeys))
            if view_id in contents:
                view_id = ViewId(view_id.number + 10 * (1 + MEMBERS.index(holder)), view_id.creator)
            view = contents.setdefault(view_id, View(view_id, tuple(members)))
        held[holder] = view
    return held


@given(held_views())
def test_parties_are_disjoint_and_every_holder_is_in_one(held: dict[Address, View]) -> None:
    parties = parties_of(held)
    everybody = [member for party in parties for member in party.members]
    assert len(set(everybody)) == len(everybody)
    assert set(held) <= set(everybody)
    for party in parties:
        assert party.coordinator in party.members and held[party.coordinator].id == party.view.id
    assert all(holder in members for holder, members in sanitised(held).items())


@given(st.lists(st.lists(st.sampled_from(MEMBERS), min_size=1, unique=True), min_size=1, max_size=4), st.data())
def test_a_merge_view_has_everybody_once_in_disjoint_subgroups(
    groups: list[list[Address]], data: st.DataObject
) -> None:
    aggregates = [
        Aggregate(tuple(group), Digest({m: Entry(0, 1, 1) for m in group}), data.draw(numbers), 1, 1)
        for group in groups
    ]
    above = max(aggregate.number for aggregate in aggregates)
    view = merge_view(ViewNumbers().next_id(above, groups[0][0]), aggregates)
    assert sorted(view.members) == sorted({m for group in groups for m in group})
    assert [m for subgroup in view.subgroups for m in subgroup] == list(view.members)
    assert view.id.number > above
