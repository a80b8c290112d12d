"""What others are told when one merge comes before another is over, and all of the second is here before its view."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from ringcast.core.control import Reunion, ReunionFailed, StateConfirmed
from ringcast.core.deadlines import Deadlines
from ringcast.core.entrance import Entrance
from ringcast.core.state.exchange import StateExchange
from ringcast.core.steps import SendReliable
from ringcast.model import Address, View, profile
from unit.core.reunion.test_sides import REUNION, SIDES, A, B, C, D, W, merge_view

MERGED, SIDE, END, FAILED = 0, 3, 1, 2  # of the first byte of a part


def part(kind: int, rest: bytes = b"") -> bytes:
    return bytes([kind]) + W.number.to_bytes(8, "little") + rest


def words(me: Address, merger: Address, origin: Address, *parts: bytes) -> list[tuple[Address, Any]]:
    """It waits in the merge V; parts of the merge W come, then the view of W."""
    views: list[View] = []
    membership: Any = SimpleNamespace(is_promised=False, acting=A)
    exchange = StateExchange(
        me, profile("test"), 1000, membership, lambda: views[-1], Entrance(reunites=True), Deadlines()
    )
    exchange.state.streams.on_taken = lambda *taken: []  # type: ignore[method-assign]
    views.append(merge_view(REUNION).view)
    exchange.on_view(0, merge_view(REUNION))
    came: Any = SimpleNamespace(origin=origin, payloads=list(parts))
    assert exchange.state._sorted(1, came) == [] and exchange.state.early
    after = merge_view(Reunion(W, W, merger, SIDES, (A, B, C, D)))
    views.append(after.view)
    return [tuple(step) for step in exchange.on_view(2, after) if isinstance(step, SendReliable)]  # type: ignore[misc]


@pytest.mark.parametrize("me", [D, A])
def test_of_a_merge_that_another_came_before_nothing_is_told_though_the_other_is_over(me: Address) -> None:
    """A merged the states of the first, which it says nobody shall wait for: the view itself does."""
    assert words(me, B, B, part(MERGED, b"state"), part(MERGED + END)) == [(A, StateConfirmed(""))]


def test_what_went_wrong_is_told_of_the_merge_that_it_went_wrong_in() -> None:
    told = words(A, A, C, part(SIDE, b"state"), part(SIDE + FAILED, b"no disk"))
    failed = [message for _, message in told if isinstance(message, ReunionFailed)]
    assert [message.cut for message in failed] == [W] * 4
    assert all("no disk" in message.why for message in failed)
