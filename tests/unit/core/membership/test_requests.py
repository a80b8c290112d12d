"""The queue of requests: no duplicates (V02), bounded, batches that may share a view (V06)."""

from ringcast.core.membership.requests import Request, RequestKind, RequestQueue
from ringcast.model import Address

A, B = Address("a", 0, "a:1"), Address("b", 0, "b:1")
JOIN, WITH_STATE, LEAVE, COORD_LEAVE, SUSPECT, PRIMARY = RequestKind


def queue_of(*requests: Request, capacity: int = 100) -> RequestQueue:
    queue = RequestQueue(capacity)
    for request in requests:
        queue.add(request)
    return queue


def test_duplicates_collapse_v02() -> None:
    assert len(queue_of(Request(JOIN, A), Request(JOIN, A))) == 1
    assert len(queue_of(Request(JOIN, A), Request(WITH_STATE, A))) == 2
    assert len(queue_of(Request(LEAVE, A), Request(SUSPECT, A))) == 2
    assert len(queue_of(Request(JOIN, A), Request(JOIN, B))) == 2


def test_what_the_asker_said_makes_no_second_request_v02() -> None:
    assert len(queue_of(Request(JOIN, A, "observer"), Request(JOIN, A, "member"))) == 1


def test_an_empty_queue_gives_an_empty_batch_v02() -> None:
    assert queue_of().take_batch() == ()


def test_join_leave_and_suspect_share_a_batch_in_order_of_arrival() -> None:
    queue = queue_of(Request(SUSPECT, B), Request(JOIN, A), Request(LEAVE, B))
    assert queue.take_batch() == (Request(SUSPECT, B), Request(JOIN, A), Request(LEAVE, B))
    assert len(queue) == 0


def test_a_coordinators_own_leave_goes_alone_v06() -> None:
    queue = queue_of(Request(JOIN, A), Request(COORD_LEAVE, A), Request(COORD_LEAVE, B), Request(JOIN, B))
    batches = [queue.take_batch() for _ in range(5)]
    assert batches == [
        (Request(JOIN, A),),
        (Request(COORD_LEAVE, A),),
        (Request(COORD_LEAVE, B),),
        (Request(JOIN, B),),
        (),
    ]


def test_it_says_when_it_is_full() -> None:
    queue = queue_of(Request(JOIN, A), capacity=2)
    assert not queue.is_full
    queue.add(Request(JOIN, B))
    assert queue.is_full
