"""What members that are gone had sent is kept until all who go on have shown the view without them (G5)."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from ringcast.core.multicast.departed import Departed
from ringcast.model import Address, View, ViewId

A, B, C, D = (Address(name, 1, f"mem:{name}") for name in "ABCD")


def stream(handed: int) -> Any:
    return SimpleNamespace(window=SimpleNamespace(handed=handed))


def test_it_is_kept_until_everybody_has_shown_the_view() -> None:
    departed, gone = Departed(), stream(5)
    departed.on_view(A, {B: gone, C: stream(3), D: stream(4)}, View(ViewId(2, A), (A, C, D)))
    assert departed.get(B) is gone and departed.get(C) is None
    departed.on_shown(C)
    assert departed.get(B) is gone
    departed.on_shown(D)
    assert departed.get(B) is None and departed.reached(B) == 5


def test_a_window_that_begins_where_it_ended_goes_on_and_another_begins() -> None:
    departed = Departed()
    departed.on_view(A, {B: stream(5)}, View(ViewId(2, A), (A,)))
    assert departed.get(B) is None  # There is nobody to wait for.
    assert departed.goes_on(B, 5)
    departed.on_view(A, {B: stream(7)}, View(ViewId(3, A), (A,)))
    assert not departed.goes_on(B, 9)
