"""A figure of `bench order` counts only if everything was read, and in one order."""

import pytest

from ringcast.bench.order import OrderShape, figures
from ringcast.errors import UsageError


def report(interleaving: str = "same", wrong: int = 0, messages: int = 10) -> dict[str, object]:
    seen = {"messages": messages, "nbytes": 1_000, "first_ns": 0, "last_ns": 10**9, "wrong": wrong, "ends": 1}
    return {
        "received": {"a": seen, "b": {**seen, "messages": 10, "wrong": 0}},
        "interleaving": interleaving,
        "retransmitted": 0,
        "rss_megabytes": 20.0,
        "cpu_seconds": 0.5,
    }


def complete(**changes: object) -> bool:
    reports = {"a": report(), "b": report(**changes)}  # type: ignore[arg-type]
    return bool(figures(reports, {"a": 10, "b": 10})["complete"])


def test_everything_in_one_order_is_complete() -> None:
    told = figures({"a": report(), "b": report()}, {"a": 10, "b": 10})
    assert told["complete"] and told["messages_per_second_per_receiver"] == 20


def test_another_order_a_lost_and_a_wrong_message_are_not() -> None:
    assert not complete(interleaving="other")
    assert not complete(messages=9)
    assert not complete(wrong=1)


def test_a_shape_that_cannot_be_is_refused_in_words() -> None:
    with pytest.raises(UsageError, match="--members must be 2 to 64, got 1"):
        OrderShape(members=1)
