"""Limits that wait for each other must nest, and every profile keeps to it."""

from typing import Any

import pytest

from ringcast.errors import ConfigError
from ringcast.model import MS, SECOND, Config, profile


@pytest.mark.parametrize("name", ["local", "lan", "wan", "test"])
def test_in_every_profile_the_limits_nest(name: str) -> None:
    config = profile(name)
    assert config.fill_ns < config.roll_call_ns < config.merge_ns
    assert config.merge_ask_ns + config.merge_ns + config.view_limit_ns < config.resumer_ns
    assert 3 * config.roll_call_ns < config.view_change_ns
    assert config.heartbeat_ns < config.suspect_after_ns < config.stall_limit_ns


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"fill_ns": 2 * SECOND}, "roll_call_ns must be more than fill_ns = 2000000000, got 2000000000"),
        ({"merge_ns": 2 * SECOND}, "merge_ns must be more than roll_call_ns = 2000000000, got 2000000000"),
        (
            {"resumer_ns": 7 * SECOND},
            "resumer_ns must be more than merge_ask_ns + merge_ns + view_limit_ns = 7000000000, got 7000000000",
        ),
        (
            {"view_limit_ns": 5 * SECOND},
            "resumer_ns must be more than 3 * roll_call_ns + view_limit_ns = 11000000000, got 10000000000",
        ),
        ({"heartbeat_ns": 3 * SECOND}, "suspect_after_ns must be more than heartbeat_ns = 3000000000, got 2000000000"),
        (
            {"stall_limit_ns": 2 * SECOND},
            "stall_limit_ns must be more than suspect_after_ns = 2000000000, got 2000000000",
        ),
    ],
)
def test_limits_that_do_not_nest_are_refused_with_the_values(changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ConfigError) as error:
        Config(**changes)
    assert str(error.value) == sentence


@pytest.mark.parametrize("name", ["local", "lan"])
def test_a_crash_can_be_known_within_five_seconds(name: str) -> None:
    """Silence, the question of who noticed, the question of who was told."""
    config = profile(name)
    assert config.suspect_after_ns + 2 * config.verify_ns + config.heartbeat_ns < 5 * SECOND


def test_a_range_is_named_when_it_is_left() -> None:
    with pytest.raises(ConfigError, match="watch_peers must be a whole number from 1 to 64, got 0"):
        Config(watch_peers=0)
    assert Config(gather_ns=0).gather_ns == 0 < 1 * MS
