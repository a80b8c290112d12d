"""The multicast benchmark: what it measures, and that it says so when anything is missing or wrong."""

import asyncio
from typing import Any

import pytest

from ringcast.bench import Shape
from ringcast.bench.multicast import FORMS, _figures, measure
from ringcast.bench.user_body import Body, Numbers, end_of, sender_in
from ringcast.errors import UsageError


def report(messages: int, wrong: int = 0) -> dict[str, Any]:
    seen = {"messages": messages, "nbytes": 100 * messages, "first_ns": 0, "last_ns": 10**9, "wrong": wrong, "ends": 1}
    return {
        "received": {"m0": seen},
        "retransmitted": 0,
        "overflows": 0,
        "rss_megabytes": 10.0,
        "cpu_seconds": 1.0,
    }


def figures(*reports: dict[str, Any]) -> dict[str, Any]:
    names = [f"m{number}" for number in range(1, len(reports) + 1)]
    everybody = {"m0": report(0), **dict(zip(names, reports, strict=True))}
    return _figures(Shape(members=len(everybody)), everybody, {"m0": {"sent": 1000}})


def test_the_rate_is_the_median_over_the_receivers() -> None:
    assert figures(report(1000), report(1000), report(1000))["messages_per_second_per_receiver"] == 1000


def test_a_receiver_that_lacks_one_message_makes_the_run_incomplete() -> None:
    assert figures(report(1000), report(1000))["complete"] is True
    assert figures(report(1000), report(999))["complete"] is False


def test_a_wrong_message_makes_the_run_incomplete() -> None:
    assert figures(report(1000), report(1000, wrong=1))["complete"] is False


@pytest.mark.parametrize("senders", [1, 3])
@pytest.mark.parametrize("form", FORMS)
def test_members_in_memory_are_measured_and_complete(senders: int, form: str) -> None:
    shape = Shape(members=3, senders=senders, size=100, seconds=0.05, transport="memory")
    result = asyncio.run(measure(shape, form))
    assert result["complete"] is True
    assert result["messages_per_second_per_receiver"] > 0


@pytest.mark.parametrize(
    "wrong",
    [
        {"members": 1},
        {"senders": 5},
        {"transport": "pigeon"},
        {"ip_multicast": True, "transport": "tcp"},
        {"loss_percent": 95},
    ],
)
def test_a_shape_that_makes_no_sense_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="--"):
        Shape(**wrong)


def body(size: int = 100, senders: int = 1) -> Body:
    seen = Body(size, senders)
    seen.messages = 3
    seen.look("m0", (0).to_bytes(8, "little") + bytes(92), 1)
    return seen


def test_a_receiver_of_the_user_form_is_complete_with_the_count_that_the_sender_named() -> None:
    seen = body()
    assert seen.take_odd(end_of(3, 100)) and seen.is_complete


def test_a_receiver_of_the_user_form_sees_what_it_lacks_what_is_misplaced_and_what_has_another_length() -> None:
    lacking, misplaced, longer = body(), body(), body()
    lacking.take_odd(end_of(4, 100))
    misplaced.look("m0", (5).to_bytes(8, "little") + bytes(92), 3)
    misplaced.take_odd(end_of(3, 100))
    longer.take_odd(bytes(101))
    longer.take_odd(end_of(3, 100))
    assert [seen.is_complete for seen in (lacking, misplaced, longer)] == [False, False, False]


def fresh(number: int, sender: int, size: int) -> bytes:
    numbers = Numbers.of(size, sender)
    return (number % numbers.most).to_bytes(numbers.head, "little") + numbers.padding


@pytest.mark.parametrize("size", [4, 8, 9, 100])
def test_two_senders_that_are_not_equally_far_are_no_mistake(size: int) -> None:
    seen = Body(size, 2)
    for place, (number, sender) in enumerate([(2_000, 0), (100, 1), (2_001, 0), (101, 1)]):
        payload = fresh(number, sender, size)
        assert len(payload) == size
        seen.look(sender_in(payload), payload, place)
    assert seen.wrong == 0


def test_a_sender_among_two_whose_messages_come_back_is_seen_by_what_its_payloads_say() -> None:
    seen = Body(100, 2)
    for place, (number, sender) in enumerate([(2_000, 0), (100, 1), (1_999, 0), (101, 1)]):
        payload = fresh(number, sender, 100)
        seen.look(sender_in(payload), payload, place)
    assert seen.wrong == 1


def test_the_end_of_the_user_form_never_has_the_length_of_a_message() -> None:
    assert all(len(end_of(3, size)) != size for size in range(1, 64))
