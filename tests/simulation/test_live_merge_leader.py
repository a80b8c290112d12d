"""Heals of one member that was excluded although it lives: its leader is not taken for gone, and it is not refused."""

from __future__ import annotations

import pytest

from ringcast.model import MS, SECOND, Event, Kind
from simulation.members import Members


def false_departures(events: list[Event]) -> list[Event]:
    """Resumptions for a leader that is gone, where nothing was suspected since the suspension."""
    found: list[Event] = []
    suspected: dict[object, None] = {}
    for event in events:
        match event.kind:
            case Kind.SUSPEND:
                suspected.clear()
            case Kind.SUSPECT:
                suspected[event.peer] = None
            case Kind.RESUME if (event.detail or {})["cause"] == "leader-gone" and event.peer not in suspected:
                found.append(event)
            case _:
                pass
    return found


@pytest.mark.parametrize("seed", range(30))
def test_a_live_member_that_was_excluded_heals_without_a_false_departure_of_its_leader(seed: int) -> None:
    """Links of 1 to 31 ms, so that what D learns of the others comes while it follows the merge that takes it back."""
    world = Members(seed, jitter_ns=30 * MS)
    world.gather("ABCDE")
    suspect = world.address("D")
    world.into("A", lambda node, now_ns: node.suspect(now_ns, suspect))
    assert world.is_soon_one("ABCE")
    assert world.is_soon_one("ABCDE", 5 * SECOND)
    assert [event for name in "ABCDE" for event in false_departures(world.events(name))] == []


@pytest.mark.parametrize("seed", range(10))
def test_a_live_member_that_was_excluded_is_not_refused_for_what_it_gathers(seed: int) -> None:
    """D suspects all who went on without it, just when the merge asks for it: these suspicions wait (seed 004)."""
    world = Members(seed)
    world.gather("ABCDE")
    began_ns, suspect = world.clock.now_ns, world.address("D")
    world.into("A", lambda node, now_ns: node.suspect(now_ns, suspect))
    assert world.is_soon_one("ABCE")
    assert world.is_soon_one("ABCDE", 5 * SECOND)
    assert [event for name in "ABCDE" for event in world.merge_events(name, "refuse", began_ns)] == []
    number = world["A"].node.view.id.number
    world.run_for(3 * SECOND)
    assert world.is_one("ABCDE") and world["A"].node.view.id.number == number  # Nobody was excluded once more.
    assert world.verdict() == []
