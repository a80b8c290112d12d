"""The room of one sender in one peer's inbox: to the last byte, and no byte further."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from ringcast.bus.inbox import FRAME_BYTES, LENGTH_BYTES, Batch, Inbox, frame_bytes, longest, ticks

RING = 256
SENDER = 1


def staged(inbox: Inbox, number: int, *payloads: bytes) -> Batch:
    batch = Batch("a", number, list(payloads))
    assert inbox.has_room(SENDER, batch.size)
    inbox.stage(SENDER, number, 0, batch)
    return batch


def test_a_ring_is_filled_to_its_last_byte_and_takes_nothing_more() -> None:
    inbox = Inbox(RING)
    staged(inbox, 1, bytes(longest(RING)))
    assert not inbox.has_room(SENDER, 8)
    assert inbox.has_room(SENDER + 1, RING)  # Room is counted by sender.


def test_two_frames_fill_a_ring_together() -> None:
    inbox = Inbox(RING)
    for number in (1, 2):
        staged(inbox, number, bytes(RING // 2 - FRAME_BYTES - LENGTH_BYTES))
    assert not inbox.has_room(SENDER, 8)


def test_room_comes_back_with_the_last_message_of_a_batch_and_not_before() -> None:
    inbox = Inbox(RING)
    batch = staged(inbox, 1, b"1", b"2", b"3")
    inbox.commit(SENDER, 1, 1)
    inbox.take(2, timeout=0)
    assert not inbox.has_room(SENDER, RING - batch.size + 8)
    inbox.take(1, timeout=0)
    assert inbox.has_room(SENDER, RING)


def test_a_batch_that_is_aborted_gives_its_room_back() -> None:
    inbox = Inbox(RING)
    batch = staged(inbox, 1, bytes(longest(RING)))
    inbox.abort(SENDER, 1, batch.size)
    assert inbox.has_room(SENDER, RING)
    inbox.abort(SENDER, 1, batch.size)  # It is not there any more.
    assert not inbox.has_room(SENDER, RING + 8)


@given(st.lists(st.integers(0, longest(RING)).map(bytes), max_size=30))
def test_a_long_batch_is_cut_into_parts_that_fit_half_a_ring(payloads: list[bytes]) -> None:
    parts = ticks(payloads, RING)
    assert [payload for part in parts for payload in part] == payloads
    for part in parts:
        assert frame_bytes(part) <= (RING // 2 if len(part) > 1 else RING)
    for part, following in pairwise(parts):
        assert frame_bytes([*part, following[0]]) > RING // 2 - 8  # None is cut without need.
