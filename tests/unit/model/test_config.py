"""The config: checked at construction, with errors that name the field, the value and the range."""

from dataclasses import FrozenInstanceError
from datetime import timedelta
from typing import Any

import pytest

from ringcast.errors import ConfigError
from ringcast.model import MS, SECOND, Config, profile


@pytest.mark.parametrize("name", ["local", "lan", "wan", "test"])
def test_every_profile_is_valid(name: str) -> None:
    assert isinstance(profile(name), Config)


def test_lan_and_wan_stay_within_the_path_mtu() -> None:
    assert profile("lan").frame_bytes <= 1_472 and profile("wan").frame_bytes <= 1_472


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"capacity": 0}, "capacity must be a whole number from 1 to 1048576, got 0"),
        ({"capacity": 2**20 + 1}, "got 1048577"),
        ({"capacity": 1.5}, r"got 1\.5"),
        ({"capacity": True}, "got True"),
        ({"frame_bytes": 100}, "frame_bytes must be a whole number from 512 to 65000, got 100"),
        ({"when_full": "panic"}, "when_full must be 'wait' or 'raise', got 'panic'"),
        ({"self_delivery": "yes"}, "self_delivery must be True or False, got 'yes'"),
        ({"capasity": 5}, "unknown config field 'capasity'; known are "),
    ],
)
def test_a_bad_value_is_named_with_its_field_and_its_range(change: dict[str, object], sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        profile("local", **change)


def test_the_edges_of_a_range_are_allowed() -> None:
    assert profile("local", capacity=1).capacity == 1
    assert profile("local", capacity=2**20).capacity == 2**20


def test_an_unknown_profile_names_the_known_ones() -> None:
    with pytest.raises(ConfigError, match="unknown profile 'moon'; known are local, lan, wan, test"):
        profile("moon")


def test_a_config_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        profile("local").capacity = 3  # type: ignore[misc]


def test_acks_come_after_a_quarter_of_the_window_unless_told() -> None:
    assert profile("local", capacity=100).ack_after == 25
    assert profile("local", capacity=2).ack_after == 1
    assert profile("local", ack_every=7).ack_after == 7


def test_times_are_written_in_seconds_or_as_a_timedelta() -> None:
    config = profile("lan", suspect_after=2.5, stall_limit=timedelta(minutes=1), heartbeat=1, capacity=64)
    assert (config.suspect_after_ns, config.stall_limit_ns, config.heartbeat_ns) == (2_500 * MS, 60 * SECOND, SECOND)
    assert config.with_changes(suspect_after=timedelta(seconds=3)).suspect_after_ns == 3 * SECOND
    assert profile("lan", suspect_after_ns=3 * SECOND) == profile("lan", suspect_after=3)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"suspect_after": 5_000}, r"suspect_after must be from 0\.002 to 3600 seconds, or a timedelta, got 5000"),
        ({"suspect_after": "2 s"}, "suspect_after must be from .* seconds, or a timedelta, got '2 s'"),
        ({"suspect_after": True}, "suspect_after must be from"),
        ({"suspect_after": 2, "suspect_after_ns": 2 * SECOND}, "given both"),
        ({"capacity_ns": 2}, "unknown config field 'capacity_ns'; known are ack_every, announce, "),
    ],
)
def test_times_that_cannot_be_meant_are_refused(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        profile("lan", **changes)
