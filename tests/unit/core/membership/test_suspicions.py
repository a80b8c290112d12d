"""Whom a member suspects, what ends a suspicion, and who therefore leads."""

from __future__ import annotations

import pytest

from ringcast.core.membership.suspicions import Suspicions
from ringcast.core.steps import Until
from ringcast.model import MS, SECOND, Address, View, ViewId, profile
from simulation.members import Members

A, B, C, D = (Address(name, 1, f"mem:{name}") for name in "ABCD")
VIEW = View(ViewId(1, A), (A, B, C, D), observers=(B,))


def test_what_the_failure_detector_raised_it_withdraws() -> None:
    suspicions = Suspicions(D)
    assert suspicions.add(A, "silent", Until.HEARD)
    assert suspicions.acting(VIEW) == C  # B observes.
    suspicions.withdraw(A)
    assert A not in suspicions and suspicions.acting(VIEW) == A


def test_a_member_that_did_not_do_what_it_must_stays_suspected_until_a_view() -> None:
    suspicions = Suspicions(D)
    suspicions.add(A, "refused a view", Until.VIEW)
    suspicions.withdraw(A)
    assert A in suspicions
    suspicions.on_view(VIEW, suspected=())
    assert A not in suspicions


def test_a_view_settles_all_but_what_the_failure_detector_still_suspects_y14() -> None:
    """A member that came back by a merge would otherwise exclude those who had gone on without it."""
    suspicions = Suspicions(D)
    for member, until in ((A, Until.VIEW), (B, Until.HEARD), (C, Until.HEARD)):
        suspicions.add(member, "went on without us", until)
    suspicions.on_view(View(ViewId(2, A), (A, B, D)), suspected=(B, C))
    assert list(suspicions.members) == [B]  # A is settled, C is gone.


def test_nobody_suspects_itself() -> None:
    suspicions = Suspicions(D)
    assert not suspicions.add(D, "silent", Until.VIEW) and D not in suspicions


def test_who_was_only_late_is_forgiven_and_who_did_worse_is_not() -> None:
    suspicions = Suspicions(D)
    for member in (A, B):
        suspicions.add(member, "did not show the view", Until.SHOWN)
    suspicions.add(A, "has another view", Until.SHOWN)
    suspicions.add(B, "was replaced", Until.VIEW)
    suspicions.add(B, "has another view", Until.SHOWN)
    suspicions.add(C, "silent", Until.HEARD)
    assert suspicions.forgive(A) and A not in suspicions and A not in suspicions.final
    assert not suspicions.forgive(B) and B in suspicions
    assert not suspicions.forgive(C) and C in suspicions
    suspicions.add(A, "did not show the view", Until.SHOWN)
    suspicions.on_view(VIEW, suspected=(A,))
    assert not suspicions.forgive(A) and A in suspicions


@pytest.mark.parametrize("untils", [(Until.HEARD, Until.SHOWN), (Until.SHOWN, Until.HEARD)])
def test_who_is_forgiven_for_being_late_is_still_suspected_by_the_failure_detector(untils: tuple[Until, Until]) -> None:
    suspicions = Suspicions(D)
    for until in untils:
        suspicions.add(A, "why", until)
    assert suspicions.forgive(A) and A in suspicions and A not in suspicions.final
    suspicions.withdraw(A)
    assert A not in suspicions


@pytest.mark.parametrize("names", ["A", "AB", "ABCDE"])
def test_a_member_that_shows_a_view_late_stays_and_is_watched_again(names: str) -> None:
    """Seed 281544: the coordinator had given it up, and put it out again just after it had come."""
    world = Members()
    world.gather(names)
    world.fault("no-control", "A", "Z")
    world.start("Z")
    leading = world["A"].node.coordination
    assert leading is not None
    suspicions = leading.membership.suspicions
    assert world.run_until(lambda: [member.name for member in suspicions.late] == ["Z"])
    view = world["A"].node.view
    world.mend()
    assert world.is_soon_one([*names, "Z"])
    world.run_for(5 * SECOND)
    assert world["A"].node.view == view and not suspicions.members
    parts = {name: world[name].node.coordination for name in names}
    assert [name for name, part in parts.items() if part and world.address("Z") in part.detector._watched] == list(
        names
    )
    assert world.verdict() == []


@pytest.mark.parametrize("more_ms", [0, 78, 81, 84, 87])
def test_whoever_noticed_that_a_member_was_late_forgives_it(more_ms: int) -> None:
    """Its next heartbeat, behind the limit, still named the view before: the others, and the coordinator once more,
    took that for a suspicion of another kind, and it was put out when all had shared the view."""
    world = Members(jitter_ns=0, config=profile("test"))
    world.gather("ABCD")
    world.run_for(SECOND)
    world.start("E")
    leading = world["A"].node.coordination
    assert leading is not None

    def has_ordered_to_fill() -> bool:
        change = leading.membership.as_coordinator and leading.membership.as_coordinator.change
        return change is not None and change.roll_call.next_id is not None

    assert world.run_until(has_ordered_to_fill, look_every_ns=MS // 10)
    world.run_for(13 * MS // 10)  # The order has come, the view is not made yet.
    world.network.cut([(name, "B") for name in "ACDE"], ("control",))
    assert world.run_until(lambda: [member.name for member in leading.membership.suspicions.late] == ["B"])
    world.run_for(more_ms * MS)
    world.network.mend_all()
    assert world.is_soon_one("ABCDE")
    view = world["A"].node.view
    world.run_for(5 * SECOND)
    parts = {name: world[name].node.coordination for name in "ABCDE"}
    assert world["A"].node.view == view and world.is_one("ABCDE")
    assert [name for name, part in parts.items() if part and part.membership.suspicions.members] == []
    assert world.verdict() == []
