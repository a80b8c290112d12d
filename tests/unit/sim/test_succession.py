"""Which states must be equal, and what is said of those that are not."""

from ringcast.model import SECOND, Address, View, ViewId
from ringcast.sim.succession import NOBODY_HAS_IT, NOBODY_OF_THE_SIDE, Cut, Succession

A, B, J = (Address(name, 1, f"sim:{name}") for name in "ABJ")
ONE = View(ViewId(1, A), (A,))
TWO = View(ViewId(2, A), (A, B))
THREE = View(ViewId(3, A), (A, B, J))


def founded() -> Succession:
    notes = Succession()
    notes.note_state(A, None, "0", 0)
    notes.note_view(A, ONE, "0")
    return notes


def joined(got: str = "1", had: str = "1") -> Succession:
    notes = founded()
    notes.note_view(A, TWO, had)
    notes.note_state(B, Cut(A, TWO.id), got, SECOND)
    notes.note_view(B, TWO, got)
    return notes


def said(notes: Succession) -> list[str]:
    return list(notes.strange())


def test_a_joiner_has_what_its_provider_had_at_the_cut() -> None:
    assert said(joined()) == []
    assert said(joined(got="2")) == ["B#1 got a state for A#1|2 that A#1 did not have there"]


def test_a_view_before_the_cut_of_a_state_is_history() -> None:
    notes = joined()
    notes.note_view(A, THREE, "2")
    notes.note_state(J, Cut(A, THREE.id), "2", SECOND)
    for view in (TWO, THREE):
        notes.note_view(J, view, "2")
    assert [stand.view for stand in notes.stands[J]] == [THREE]
    assert said(notes) == []
    assert notes.counts == {"founded": 1, "loaded": 2}


def test_a_view_before_the_cut_of_a_later_state_is_history_too() -> None:
    """B has the state; before it has read the third view it gets that of the fourth, and then reads both."""
    notes, four = joined(), View(ViewId(4, A), (A, B))
    notes.note_view(A, THREE, "2")
    notes.note_view(A, four, "3")
    notes.note_state(B, Cut(A, four.id), "3", SECOND)
    for view in (THREE, four):
        notes.note_view(B, view, "3")
    assert [stand.view for stand in notes.stands[B]] == [TWO, four]
    assert said(notes) == []


def test_who_goes_on_together_from_one_state_comes_to_one_state() -> None:
    notes = joined()
    notes.note_view(A, THREE, "2")
    notes.note_view(B, THREE, "3")
    assert said(notes) == ["B#1 and A#1 went from A#1|2 to A#1|3 together, from one state to different ones"]


def test_sides_of_a_merge_may_differ_and_stay_different() -> None:
    notes, merged = joined(), View(ViewId(3, A), (A, B), subgroups=((A,), (B,)))
    notes.note_view(A, merged, "2")
    notes.note_view(B, merged, "3")
    later = View(ViewId(4, A), (A, B))
    notes.note_view(A, later, "2+")
    notes.note_view(B, later, "3+")
    assert said(notes) == []


def test_only_who_founds_a_group_begins_with_a_state_of_its_own() -> None:
    notes = founded()
    notes.note_state(B, None, "0", 0)
    notes.note_view(B, TWO, "0")
    assert said(notes) == ["B#1 began with a state of its own in A#1|2, where others were before it"]


def test_that_nobody_has_the_state_must_be_true() -> None:
    notes = joined()
    notes.note_refusal(J, NOBODY_HAS_IT, THREE, 3 * SECOND)
    assert said(notes) == ["J#1 was told in A#1|3 that nobody has the state, but A#1 has it"], "B may not be known yet"
    notes = founded()
    notes.note_refusal(J, "the disk cannot be read", THREE, 9 * SECOND)
    assert said(notes) == []


def test_that_nobody_of_its_side_of_a_merge_has_the_state_must_be_true() -> None:
    apart = View(THREE.id, THREE.members, subgroups=((A, B), (J,)))
    notes = joined()
    notes.note_refusal(J, NOBODY_OF_THE_SIDE, apart, 3 * SECOND)
    assert said(notes) == []
    notes.note_refusal(J, NOBODY_OF_THE_SIDE, View(THREE.id, THREE.members, subgroups=((B,), (A, J))), 3 * SECOND)
    assert said(notes) == ["J#1 was told in A#1|3 that nobody has the state, but A#1 has it"]


def test_all_hold_one_state_behind_a_merge_that_made_one_of_many() -> None:
    notes, merged = joined(), View(ViewId(3, A), (A, B), subgroups=((A,), (B,)))
    for member, digest in ((A, "2"), (B, "3")):
        notes.note_view(member, merged, digest)
    notes.note_merged(A, merged.id, "4", merged.members)
    assert said(notes) == []
    notes.note_merged(B, merged.id, "5", merged.members)
    assert said(notes) == ["after the merge into A#1|3 A#1 and B#1 hold different states"]


def test_who_had_parted_before_it_got_the_merged_state_may_hold_another() -> None:
    """Seed 36: the merger was gone before it had given its state, and the one that was left made one anew."""
    notes, merged = joined(), View(ViewId(3, A), (A, B), subgroups=((A,), (B,)))
    for member, digest in ((A, "2"), (B, "3")):
        notes.note_view(member, merged, digest)
    notes.note_merged(A, merged.id, "4", merged.members)
    notes.note_merged(B, merged.id, "5", (B,))
    assert said(notes) == []


def test_an_observer_that_has_the_state_gives_it_to_nobody() -> None:
    notes = joined()
    notes.note_refusal(J, NOBODY_HAS_IT, View(THREE.id, THREE.members, (A,)), 3 * SECOND)
    assert said(notes) == []


def test_a_merged_state_is_that_of_the_view_that_was_read_last() -> None:
    notes = joined()
    notes.note_merged(B, THREE.id, "4", THREE.members)
    assert said(notes) == ["B#1 got the merged state of A#1|3, which it did not read last"]


def test_what_is_no_state_must_not_be_got_as_one() -> None:
    notes = founded()
    notes.note_damage(J, "9 bytes")
    assert said(notes) == ["J#1 got what is no state, as if it were one: 9 bytes"]
