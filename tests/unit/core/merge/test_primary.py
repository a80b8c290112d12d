"""When another side proves that the primary side went on without us."""

from random import Random
from typing import Any

from ringcast.core.merge import MergeDetector
from ringcast.core.merge.elsewhere import primary_elsewhere
from ringcast.model import MS, Address, Config, Electorate, Mark, View, ViewId
from unit.core.calls import neighbour, with_calls_made

A, B, C, D, E = (Address(name, 1, f"mem:{name}") for name in "ABCDE")


def primary(number: int, *members: Address) -> View:
    view_id = ViewId(number, members[0])
    return View(view_id, members, mark=Mark(Electorate(view_id, members), (), True))


def aside(number: int, last: View, *members: Address) -> View:
    """A view that is not primary, of members that know this last primary view."""
    assert last.mark is not None
    return View(ViewId(number, members[0]), members, mark=last.mark._replace(is_primary=False))


def detector_of(me: Address, dead: tuple[Address, ...] = ()) -> Any:
    return with_calls_made(MergeDetector(me, Config(), Random(1), neighbour(), is_suspected=dead.__contains__))


LATER_NS = 1_000 * MS
FIRST, SECOND = primary(1, A, B, C, D), primary(5, A, B)


def test_a_later_primary_view_without_us_is_proof() -> None:
    assert primary_elsewhere(C, aside(2, FIRST, C, D), [SECOND]) == (SECOND, SECOND.mark.last)  # type: ignore[union-attr]
    assert primary_elsewhere(C, FIRST, [SECOND]) is not None  # We are in a primary view that is out of date.


def test_a_stale_primary_view_that_we_were_in_ourselves_is_none() -> None:
    """Y10: B and C went on without D, which was paused and still is in the first view."""
    assert primary_elsewhere(B, aside(2, FIRST, B, C), [FIRST]) is None


def test_a_later_view_that_is_not_primary_excludes_nobody() -> None:
    assert primary_elsewhere(D, FIRST, [aside(2, FIRST, B, C)]) is None


def test_a_primary_view_that_we_know_of_and_are_not_in_is_proof() -> None:
    """Somebody who joined us knew it."""
    assert primary_elsewhere(C, aside(9, SECOND, C, D), [SECOND]) is not None


def test_who_was_in_a_later_primary_view_proves_it_even_if_none_is_primary_now() -> None:
    assert primary_elsewhere(C, aside(2, FIRST, C, D), [aside(6, SECOND, B)]) is not None
    assert primary_elsewhere(C, aside(2, FIRST, C, D), [aside(6, SECOND, E)]) is None  # hearsay


def test_a_view_that_was_to_be_ours_too_is_none() -> None:
    assert primary_elsewhere(B, aside(2, FIRST, B), [aside(6, SECOND, A)]) is None


def test_with_a_quorum_a_primary_side_of_another_chain_is_proof_whatever_its_numbers() -> None:
    known = aside(9, primary(7, A, B), A, B)
    fresh = primary(2, *(member._replace(incarnation=2) for member in (C, D, E)))
    assert known.mark is not None and fresh.mark is not None
    mine = View(known.id, known.members, mark=known.mark._replace(quorum=3, root=ViewId(0, A)))
    theirs = View(fresh.id, fresh.members, mark=fresh.mark._replace(quorum=3, root=ViewId(0, C)))
    assert primary_elsewhere(A, mine, [theirs]) is not None
    assert primary_elsewhere(A, known, [fresh]) is None


def test_without_the_policy_nobody_gives_up_its_place() -> None:
    assert primary_elsewhere(A, View(ViewId(1, A), (A,)), [View(ViewId(2, B), (B,))]) is None


def test_who_acts_on_our_side_only_if_it_has_shown_our_view_keeps_us_from_going_to_the_primary() -> None:
    """Simulated seed 9 (any, 10..15 members): C, that stood next and was not watched by us, had died unnoticed."""
    old, later = FIRST, SECOND
    made = detector_of(D)
    made.on_view(0, old)
    made.on_announcement(0, A, later.id, A)
    made.on_announcement(0, B, later.id, A)
    made.on_time(LATER_NS)
    going = ("go_to_primary", later, later.mark.last)  # type: ignore[union-attr]
    made.on_view_answer(LATER_NS, B, later)
    assert going in made.on_view_answer(LATER_NS, A, later)

    made.on_view(0, old)
    made.on_announcement(0, C, old.id, A)
    made.on_announcement(0, A, later.id, A)
    made.on_announcement(0, B, later.id, A)
    made.on_time(LATER_NS)
    made.on_view_answer(LATER_NS, B, later)
    assert made.on_view_answer(LATER_NS, A, later) == [], "C lives, and speaks for us"


def test_nobody_goes_to_a_primary_side_of_which_only_an_observer_is_left() -> None:
    """Nobody there could take it in (seed 30579)."""
    later = View(ViewId(5, A), (A, B, E), observers=(E,), mark=primary(5, A, B).mark)
    assert later.mark is not None
    for acting, steps in ((A, [("go_to_primary", later, later.mark.last)]), (E, [])):
        made = detector_of(C)
        made.on_view(0, aside(6, FIRST, C))
        made.on_announcement(0, E, later.id)
        made.on_time(LATER_NS)
        made.on_view_answer(LATER_NS, E, later, acting)
        assert [step for step in made.on_time(2 * LATER_NS) if step[0] == "go_to_primary"] == steps


def test_observers_alone_go_to_a_primary_side_of_another_chain() -> None:
    """Their view says for ever that it is primary: only a voter could make the next one (seed 200615)."""
    voters = tuple(member._replace(incarnation=2) for member in (A, B))
    old = View(ViewId(7, A), (A, B, C), observers=(C,), mark=_of_a_quorum(primary(7, A, B)))
    fresh = View(ViewId(3, voters[0]), voters, mark=_of_a_quorum(primary(3, *voters)))
    for dead in ((), (A,), (A, B)):
        made = detector_of(C, dead)
        made.on_view(0, old)
        made.on_announcement(0, voters[0], fresh.id, voters[0])
        made.on_announcement(0, voters[1], fresh.id, voters[0])
        made.on_time(LATER_NS)
        made.on_view_answer(LATER_NS, voters[1], fresh, voters[0])
        steps = made.on_view_answer(LATER_NS, voters[0], fresh, voters[0])
        assert any(step[0] == "go_to_primary" for step in steps) == (dead == (A, B)), dead


def _of_a_quorum(view: View) -> Mark:
    assert view.mark is not None
    return view.mark._replace(quorum=2, root=ViewId(0, view.id.creator))
