"""Whom a member suspects, what ends a suspicion, and who therefore leads."""

from __future__ import annotations

from ringcast.core.membership.suspicions import Suspicions
from ringcast.model import Address, View, ViewId

A, B, C, D = (Address(name, 1, f"mem:{name}") for name in "ABCD")
VIEW = View(ViewId(1, A), (A, B, C, D), observers=(B,))


def test_what_the_failure_detector_raised_it_withdraws() -> None:
    suspicions = Suspicions(D)
    assert suspicions.add(A, "silent", final=False)
    assert suspicions.acting(VIEW) == C  # B observes.
    suspicions.withdraw(A)
    assert A not in suspicions and suspicions.acting(VIEW) == A


def test_a_member_that_did_not_do_what_it_must_stays_suspected_until_a_view() -> None:
    suspicions = Suspicions(D)
    suspicions.add(A, "refused a view", final=True)
    suspicions.withdraw(A)
    assert A in suspicions
    suspicions.on_view(VIEW, suspected=())
    assert A not in suspicions


def test_a_view_settles_all_but_what_the_failure_detector_still_suspects_y14() -> None:
    """A member that came back by a merge would otherwise exclude those who had gone on without it."""
    suspicions = Suspicions(D)
    for member, final in ((A, True), (B, False), (C, False)):
        suspicions.add(member, "went on without us", final=final)
    suspicions.on_view(View(ViewId(2, A), (A, B, D)), suspected=(B, C))
    assert list(suspicions.members) == [B]  # A is settled, C is gone.


def test_nobody_suspects_itself() -> None:
    suspicions = Suspicions(D)
    assert not suspicions.add(D, "silent", final=True) and D not in suspicions
