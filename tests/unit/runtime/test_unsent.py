"""What a transport refused waits by peer."""

from __future__ import annotations

from ringcast.runtime.unsent import Unsent
from ringcast.transport import Endpoint

B, C = Endpoint("127.0.0.1", 1), Endpoint("127.0.0.1", 2)


def test_a_peer_that_takes_nothing_delays_nobody_else() -> None:
    unsent, sent = Unsent(10), []
    for frame in (b"1", b"2"):
        assert unsent.put(B, frame) and unsent.put(C, frame)

    def send(to: Endpoint, frame: bytes) -> bool:
        if to == C:
            sent.append(frame)
        return to == C

    unsent.offer(send)
    assert sent == [b"1", b"2"]
    assert unsent.holds(B) and not unsent.holds(C) and unsent.count == 2


def test_frames_to_one_peer_leave_in_order_and_the_rest_waits() -> None:
    unsent, sent = Unsent(10), []
    for frame in (b"1", b"2", b"3"):
        unsent.put(B, frame)
    unsent.offer(lambda to, frame: len(sent) < 2 and not sent.append(frame))
    assert sent == [b"1", b"2"] and unsent
    unsent.offer(lambda to, frame: not sent.append(frame))
    assert sent == [b"1", b"2", b"3"] and not unsent and unsent.count == 0


def test_beyond_the_capacity_nothing_is_kept() -> None:
    unsent = Unsent(2)
    assert unsent.put(B, b"1") and unsent.put(C, b"1")
    assert not unsent.put(C, b"2") and unsent.count == 2
