"""The multicast benchmark: what it measures, and that it says so when anything is missing or wrong."""

import asyncio
from typing import Any

import pytest

from ringcast.bench import Shape
from ringcast.bench.multicast import _figures, measure
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
@pytest.mark.parametrize("form", ["batch", "single"])
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
