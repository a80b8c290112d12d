"""Planted bugs still match the code that they replace, and are gone afterwards."""

from dataclasses import replace

import pytest

from ringcast.errors import UsageError
from ringcast.model import Address
from ringcast.sim import KNOWN
from ringcast.sim.planted import CANDIDATES, Planted, plant
from ringcast.sim.units import runs_of
from ringcast.window import AckMap, SendWindow

ME = Address("me", 1, "mem:me")
BROKEN = Planted("none at all", "G3", "ringcast.window.acks:AckMap.laggards", "upto == self.minimum", "True", seeds=1)


@pytest.mark.parametrize("bug", [*KNOWN, *CANDIDATES], ids=lambda bug: bug.name)
def test_each_planted_bug_matches_the_code_it_replaces(bug: Planted) -> None:
    with plant(bug):
        pass


def test_the_names_are_distinct() -> None:
    assert len({bug.name for bug in (*KNOWN, *CANDIDATES)}) == len(KNOWN) + len(CANDIDATES)


def test_a_bug_is_there_while_it_is_planted_and_gone_afterwards() -> None:
    acks = AckMap({"a": 1, "b": 2})
    with plant(BROKEN):
        assert acks.laggards() == ["a", "b"]
    assert acks.laggards() == ["a"]


def test_the_code_is_as_it_was_also_when_the_run_breaks() -> None:
    before = AckMap.laggards
    with pytest.raises(ZeroDivisionError), plant(BROKEN):
        raise ZeroDivisionError
    assert AckMap.laggards is before


def test_a_bug_that_no_longer_matches_is_an_error() -> None:
    with pytest.raises(UsageError, match="does not match"), plant(replace(BROKEN, right="what is not there")):
        pass


def test_a_bug_whose_method_is_gone_is_an_error() -> None:
    with (
        pytest.raises(UsageError, match="does not exist"),
        plant(replace(BROKEN, target="ringcast.window:AckMap.gone")),
    ):
        pass


def test_a_function_is_wrong_also_where_it_was_imported_by_name() -> None:
    bug = Planted("none", "check", "ringcast.sim.units:runs_of", "in numbers:", "in numbers[1:]:", seeds=1)
    with plant(bug):
        assert runs_of([1, 2, 3]) == "2..3"
    assert runs_of([1, 2, 3]) == "1..3"


def test_a_property_can_be_planted_too() -> None:
    bug = Planted("off", "G2", "ringcast.window.send:SendWindow.occupancy", "self.high - self.low", "7", seeds=1)
    window: SendWindow[bytes] = SendWindow(4, 100)
    with plant(bug):
        assert window.occupancy == 7
    assert window.occupancy == 0
