"""The outbox of a simulated process: in order, as far as there is room, and what waits is known."""

import pytest

from ringcast.errors import UsageError
from ringcast.sim import Cluster
from ringcast.sim.application import Application
from ringcast.sim.sending import Sending


def _sending() -> tuple[Sending, Application]:
    node, application = Cluster(2)["A"].node, Application()
    return Sending(application, node), application


def test_small_messages_at_the_head_go_out_as_one_run() -> None:
    sending, application = _sending()
    for payload in (b"one", b"two", b"three"):
        sending.add(payload, ())
    sent = sending.next(1)
    assert sent is not None and not sent.is_far
    assert not application.outbox and sending.next(2) is None


def test_a_message_that_finds_no_room_stays_first_and_waits() -> None:
    sending, application = _sending()
    for _ in range(10_000):
        sending.add(b"more than fits", ())
    while sending.next(1) is not None:
        pass
    assert application.outbox
    assert sending.has_new_wait() and sending.waiting is application.outbox[0]
    assert not sending.has_new_wait()


def test_a_message_above_what_a_window_holds_is_refused_and_nothing_is_queued() -> None:
    sending, application = _sending()
    with pytest.raises(UsageError, match="is above the"):
        sending.add(bytes(sending.largest_message + 1), ())
    assert not application.outbox
