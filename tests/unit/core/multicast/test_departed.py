"""What members that are gone had sent is kept until all who go on have shown the view without them (G5)."""

from __future__ import annotations

from ringcast.core import Channel
from ringcast.core.multicast.departed import Departed
from ringcast.core.multicast.stream import Incoming
from ringcast.model import View, ViewId, profile
from unit.core.multicast.nodes import A, B, C, D, run_of


def stream(handed: int) -> Incoming:
    """From which so many messages were handed out."""
    incoming = Incoming(Channel.GROUP, ViewId(1, A), B, A, profile("test"), 16, (4, 1024))
    incoming.on_run(run_of(B, 1, *[b"x"] * handed))
    incoming.take_ready()
    return incoming


def test_it_is_kept_until_everybody_has_shown_the_view() -> None:
    departed, gone = Departed(), stream(5)
    departed.on_view(A, {B: gone, C: stream(3), D: stream(4)}, View(ViewId(2, A), (A, C, D)))
    assert departed.get(B) is gone and departed.get(C) is None
    departed.on_shown(C)
    assert departed.get(B) is gone
    departed.on_shown(D)
    assert departed.get(B) is None and departed.reached(B) == 5
    assert gone.window.occupancy == 0
    gone.window.check()


def test_a_window_that_begins_where_it_ended_goes_on_and_another_begins() -> None:
    departed, gone = Departed(), stream(5)
    departed.on_view(A, {B: gone}, View(ViewId(2, A), (A,)))
    assert departed.get(B) is None  # There is nobody to wait for.
    assert departed.take_back(B, 5) is gone and departed.take_back(B, 5) is None
    departed.on_view(A, {B: stream(7)}, View(ViewId(3, A), (A,)))
    assert departed.take_back(B, 9) is None


def test_messages_that_nobody_asked_for_until_the_next_view_are_kept_no_longer() -> None:
    departed, gone = Departed(), stream(5)
    departed.on_view(A, {B: gone}, View(ViewId(2, A), (A, C)))
    departed.on_view(A, {C: stream(3)}, View(ViewId(3, A), (A, C)))
    assert departed.get(B) is None and gone.window.occupancy == 0
    assert departed.reached(B) == 5
