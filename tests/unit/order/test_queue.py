"""One receiver's queue: staged in front reads as empty, every revealing change says so, ties are settled."""

import pytest

from ringcast.order import OrderQueue


def queue_of(*staged: tuple[str, int, int]) -> OrderQueue[str, str]:
    queue: OrderQueue[str, str] = OrderQueue()
    for sender, number, lower in staged:
        queue.stage(sender, number, lower, f"{sender}{number}")
    return queue


def drain(queue: OrderQueue[str, str]) -> list[str]:
    out = []
    while (instance := queue.pop()) is not None:
        out.append(instance.item)
    return out


def test_an_empty_queue_has_no_front() -> None:
    queue = queue_of()
    assert (queue.front(), queue.least(), queue.pop(), len(queue)) == (None, None, None, 0)


def test_a_staged_front_reads_as_empty() -> None:
    queue = queue_of(("x", 1, 0), ("y", 1, 0))
    queue.commit("y", 1, 1)
    assert queue.front() is None
    assert queue.pop() is None
    assert len(queue) == 2


def test_what_everything_waits_for_is_the_staged_front() -> None:
    queue = queue_of(("x", 1, 0), ("y", 1, 0))
    queue.commit("y", 1, 1)
    waits_for = queue.least()
    assert waits_for is not None and waits_for.item == "x1"


def test_a_committed_message_passes_one_staged_after_it_o14() -> None:
    queue = queue_of(("y", 1, 0), ("x", 1, 1))
    assert queue.commit("y", 1, 1)
    assert drain(queue) == ["y1"]


def test_rekeying_the_blocker_behind_the_committed_one_wakes_the_waiter_o08() -> None:
    queue = queue_of(("x", 1, 0), ("y", 1, 0))
    assert not queue.commit("y", 1, 1)
    assert queue.rekey("x", 1, 1)
    assert drain(queue) == ["y1"]


def test_rekeying_not_far_enough_wakes_nobody_o08() -> None:
    queue = queue_of(("x", 1, 0), ("y", 1, 3))
    queue.commit("y", 1, 5)
    assert not queue.rekey("x", 1, 4)
    assert queue.front() is None


def test_removing_the_blocker_wakes_the_waiter_o08() -> None:
    queue = queue_of(("x", 1, 0), ("y", 1, 0))
    queue.commit("y", 1, 1)
    assert queue.remove("x", 1)
    assert drain(queue) == ["y1"]


def test_removing_one_of_two_blockers_wakes_nobody_o08() -> None:
    queue = queue_of(("w", 1, 0), ("x", 1, 0), ("y", 1, 0))
    queue.commit("y", 1, 1)
    assert not queue.remove("x", 1)
    assert queue.remove("w", 1)


def test_committing_the_blocker_behind_the_committed_one_wakes_the_waiter_o08() -> None:
    queue = queue_of(("x", 1, 0), ("y", 1, 0))
    queue.commit("y", 1, 1)
    assert queue.commit("x", 1, 2)
    assert drain(queue) == ["y1", "x1"]


def test_a_change_behind_a_readable_front_wakes_nobody_again() -> None:
    queue = queue_of(("x", 1, 0), ("y", 1, 1))
    assert queue.commit("x", 1, 1)
    assert not queue.commit("y", 1, 2)


def test_an_instance_is_staged_until_it_is_committed_or_removed() -> None:
    queue = queue_of(("x", 1, 0), ("y", 1, 0))
    queue.commit("x", 1, 1)
    assert [queue.is_staged(sender, 1) for sender in "xyz"] == [False, True, False]
    queue.remove("y", 1)
    assert not queue.is_staged("y", 1)


def test_staging_in_front_hides_a_readable_message() -> None:
    queue = queue_of(("y", 1, 0))
    queue.commit("y", 1, 2)
    queue.stage("x", 1, 1, "x1")
    assert queue.front() is None


def test_equal_lower_bounds_are_settled_by_sender_then_number() -> None:
    queue = queue_of(("b", 1, 0), ("a", 2, 0), ("a", 1, 0))
    least = queue.least()
    assert least is not None and (least.sender, least.number) == ("a", 1)


def test_a_message_started_after_the_seq_was_given_never_blocks_it() -> None:
    """No starvation: whoever starts later has seq_lower at or above the seq, thus a greater key."""
    queue = queue_of(("y", 1, 0))
    queue.commit("y", 1, 1)
    for number in range(1, 100):
        queue.stage("x", number, 1 + number // 3, f"x{number}")
        front = queue.front()
        assert front is not None and front.item == "y1"


def test_outdated_heap_entries_do_not_pile_up_behind_a_stuck_front() -> None:
    queue = queue_of(("stuck", 1, 0), ("x", 1, 0))
    for lower in range(1, 10_000):
        queue.rekey("x", 1, lower)
    assert len(queue._heap) <= 2 * len(queue) + 17


@pytest.mark.parametrize(
    ("broken", "words"),
    [
        (lambda queue: queue.stage("x", 1, 7, "again"), "message 1 of x is staged twice"),
        (lambda queue: queue.commit("x", 2, 7), "message 2 of x is not in the queue"),
        (lambda queue: queue.commit("x", 1, 5), "message 1 of x gets seq 5, not above its seq_lower 5"),
        (lambda queue: queue.rekey("x", 1, 4), "seq_lower of message 1 of x would fall from 5 to 4"),
        (lambda queue: queue.remove("z", 1), "message 1 of z is not in the queue"),
        (lambda queue: queue.commit("y", 1, 9), "message 1 of y already has seq 6"),
    ],
)
def test_broken_rules_are_named_and_leave_the_queue_as_it_was(broken: object, words: str) -> None:
    queue = queue_of(("x", 1, 5), ("y", 1, 0))
    queue.commit("y", 1, 6)
    with pytest.raises(ValueError, match=words):
        broken(queue)  # type: ignore[operator]
    assert (len(queue), [held.item for held in queue.staged()]) == (2, ["x1"])
