"""When injected faults held, from what the harness recorded."""

from __future__ import annotations

from ringcast.checkers.troubles import Troubles
from ringcast.model import Kind

FAST = {"what": "clock", "members": ["B"], "amount": 1_000_000}
SLOW = {"what": "clock", "members": ["B"], "amount": -500_000}


def spans(*events: tuple[int, Kind, dict[str, object]]) -> list[tuple[object, int, int]]:
    troubles = Troubles()
    for event in events:
        troubles.add(*event)
    return [(span.amount, span.begin_ns, min(span.end_ns, 99)) for span in troubles.spans]


def test_the_end_of_a_fault_does_not_end_one_of_its_kind_that_holds_on_below_it() -> None:
    """The clock of B ran fast again at 4; a judge that saw it end there found storms of repairs."""
    told = spans((1, Kind.FAULT, FAST), (3, Kind.FAULT, SLOW), (4, Kind.HEAL, SLOW), (9, Kind.HEAL, FAST))
    assert told == [(1_000_000, 1, 9), (-500_000, 3, 4)]


def test_the_same_fault_twice_ends_twice() -> None:
    told = spans((1, Kind.FAULT, FAST), (3, Kind.FAULT, FAST), (4, Kind.HEAL, FAST), (9, Kind.HEAL, FAST))
    assert told == [(1_000_000, 1, 9), (1_000_000, 3, 4)]


def test_the_end_of_all_ends_all_and_a_moment_is_no_span() -> None:
    crash = {"what": "crash", "members": ["A"], "amount": 0}
    told = spans((1, Kind.FAULT, FAST), (2, Kind.FAULT, crash), (3, Kind.FAULT, SLOW), (5, Kind.HEAL, {"what": "all"}))
    assert told == [(1_000_000, 1, 5), (-500_000, 3, 5)]


def test_a_fault_whose_end_was_not_recorded_holds_on() -> None:
    assert spans((1, Kind.FAULT, FAST), (4, Kind.HEAL, SLOW)) == [(1_000_000, 1, 99)]


def test_a_clock_that_runs_fast_passes_more_and_one_that_runs_slow_not_less() -> None:
    troubles = Troubles()
    for event in ((10, Kind.FAULT, FAST), (20, Kind.HEAL, FAST), (30, Kind.FAULT, SLOW)):
        troubles.add(*event)
    assert troubles.passed_ns("B", 0, 40) == 50
    assert troubles.passed_ns("B", 15, 18) == 6
    assert troubles.passed_ns("A", 0, 40) == 40
