"""What a state includes of the one order: by whom it was had from whom."""

from ringcast.core.control import NewView, Reunion, RollCallId, Side, Transfer
from ringcast.core.effects import Included
from ringcast.core.state.lineage import Lineage
from ringcast.model import Address, ViewId

A, B, C, D, E = (Address(name, 1, f"mem:{name}") for name in "ABCDE")


def view(number: int, *transfers: tuple[Address, Address], reunion: Reunion | None = None) -> NewView:
    name = ViewId(number, A)
    named = tuple(Transfer(joiner, provider, name) for joiner, provider in transfers)
    roll_call = RollCallId(ViewId(number - 1, A), 0, 1)
    return NewView(roll_call, name, (), (), (), 1, 1, (), (), transfers=named, reunion=reunion)


def lineage(*views: NewView) -> Lineage:
    found = Lineage()
    for each in views:
        found.on_view(each)
    return found


def test_of_a_member_that_loaded_nothing_a_state_includes_what_went_to_it() -> None:
    assert lineage().included((B,), 7) == (Included(B, 0, 7),)


def test_a_state_includes_what_its_provider_loaded_up_to_that_cut() -> None:
    found = lineage(view(3, (C, B)), view(5, (D, C)), view(6, (E, D)))
    assert found.included((D,), 7) == (Included(D, 0, 7), Included(C, 0, 5), Included(B, 0, 3))


def test_the_last_provider_of_a_joiner_is_the_one_that_counts_at_each_cut() -> None:
    found = lineage(view(3, (C, B)), view(4, (B, C)), view(6, (C, A)))
    assert found.included((C,), 5) == (Included(C, 0, 5), Included(B, 0, 3))
    assert found.included((C,), 7) == (Included(C, 0, 7), Included(A, 0, 6))
    assert found.included((B,), 7) == (Included(B, 0, 7), Included(C, 0, 4), Included(B, 0, 3))


def test_a_merged_state_includes_what_went_to_the_givers_and_not_what_others_had_read() -> None:
    cut = ViewId(8, A)
    sides = (Side(A, (A, B)), Side(C, (C, D)))
    reunion = Reunion(cut, cut, A, sides, (A, B, C, D), (D,))
    found = lineage(view(5, (D, B)), view(8, (D, C), reunion=reunion))
    assert found.included((A, C), 8) == (Included(A, 0, 8), Included(C, 0, 8))
    assert found.included((B,), 9)[0] == Included(B, 8, 9)  # what it had read before was replaced
    assert found.included((D,), 9)[0] == Included(D, 0, 9)  # it reads that behind the merged state
    assert found.included((B,), 9)[1:] == found.included((D,), 9)[1:] == (Included(A, 0, 8), Included(C, 0, 8))
