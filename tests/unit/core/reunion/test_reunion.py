"""One state after a merge: who makes it, who gives a side's. The stories are in tests/simulation/test_reunion.py."""

from __future__ import annotations

from ringcast.core.control import Reunion, Side
from ringcast.core.state.providers import reunion_after, reunion_of
from ringcast.model import Address, View, ViewId

A, B, C, D = (Address(name, 1, f"mem:{name}") for name in "ABCD")
V, W = ViewId(7, A), ViewId(8, B)


def test_the_first_that_may_coordinate_merges_and_the_first_of_each_side_gives() -> None:
    view = View(V, (A, B, C, D), observers=(A, C), subgroups=((A, B), (C, D)))
    assert reunion_of(view) == Reunion(V, V, B, (Side(B, (A, B)), Side(D, (C, D))), (A, B, C, D))


def test_a_side_of_observers_has_no_state_to_give() -> None:
    view = View(V, (A, B, C), observers=(C,), subgroups=((A, B), (C,)))
    assert reunion_of(view) == Reunion(V, V, A, (Side(A, (A, B)),), (A, B, C))
    assert reunion_of(View(V, (A, C), observers=(A, C), subgroups=((A,), (C,)))) is None


def test_who_has_not_loaded_the_state_it_joined_with_neither_gives_nor_merges() -> None:
    """Simulated seed 30465: the only member of a side was asked for a state while its set_state was still running."""
    view = View(V, (A, B, C, D), subgroups=((A, B), (C, D)))
    assert reunion_of(view, (A, C)) == Reunion(V, V, B, (Side(B, (A, B)), Side(D, (C, D))), (A, B, C, D), (A, C))
    alone = reunion_of(view, (C, D))  # their side has no state: they get the other one
    assert alone == Reunion(V, V, A, (Side(A, (A, B)),), (A, B, C, D), (C, D))
    assert reunion_of(view, (A, B, C, D)) is None
    before = Reunion(V, V, A, (Side(A, (A, B)), Side(D, (C, D))), (A, B, C, D), (B,))
    assert reunion_after(before, W, [B, C, D], ()) == Reunion(V, W, C, (Side(C, (C, D)),), (B, C, D), (B,))


def test_another_merger_begins_anew_at_the_same_cut() -> None:
    before = Reunion(V, V, A, (Side(A, (A, B)), Side(C, (C, D))), (A, B, C, D))
    assert reunion_after(before, W, [A, C, D], ()) == before  # Nobody who works on it is gone.
    after = reunion_after(before, W, [B, C, D], ())
    assert after == Reunion(V, W, B, (Side(B, (A, B)), Side(C, (C, D))), (B, C, D))
    assert reunion_after(before, W, [A, B], ()) == Reunion(V, W, A, (Side(A, (A, B)),), (A, B))
