"""Y08: what a group must have in common is the same at all members, or a JOIN and a merge are refused on both sides."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from random import Random
from typing import Any

import pytest

from ringcast.model import SECOND, Address, Config, Terms, profile
from ringcast.sim import Application, Broke, Partition
from simulation.members import Members

CONFIG = profile("test")


class Merging(Application):
    def merge_state(self, sides: Mapping[tuple[Address, ...], bytes]) -> bytes:
        raise AssertionError("nobody merges here")


class Different(Members):
    """B has other terms than everybody else."""

    def __init__(
        self, config: dict[str, Any], partition: Partition = "all", make_app: type[Application] = Application
    ) -> None:
        make = {"B": make_app}
        super().__init__(
            configs={"B": CONFIG.with_changes(**config)},
            make_app=lambda cluster, name: make.get(name, Application)(Random(name)),
        )
        self._of_b: Partition = partition

    def start_b(self) -> None:
        self.partitioning = self._of_b
        self.start("B")
        self.partitioning = "all"


def warned(caplog: pytest.LogCaptureFixture, name: str) -> list[str]:
    said = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    return [words.removeprefix(f"{name}#1: ") for words in said if words.startswith(f"{name}#1: ")]


DIFFERENT: list[tuple[dict[str, Any], dict[str, Any], str, str]] = [
    (
        {"max_message_bytes": 1_500},
        {},
        "max_message_bytes is 16777216, not 1500",
        "max_message_bytes is 1500, not 16777216",
    ),
    ({"capacity_floor": 32}, {}, "capacity_floor is 1, not 32", "capacity_floor is 32, not 1"),
    (
        {},
        {"partition": "primary"},
        "partition is 'all', not 'primary'",
        "partition is 'primary', not 'all'",
    ),
    ({}, {"make_app": Merging}, "merge_state is absent, not given", "merge_state is given, not absent"),
]


@pytest.mark.parametrize(("config", "join", "here", "_"), DIFFERENT)
def test_a_joiner_with_other_terms_is_refused_and_both_sides_say_why_y08(
    config: dict[str, Any], join: dict[str, Any], here: str, _: str, caplog: pytest.LogCaptureFixture
) -> None:
    world = Different(config, **join)
    world.gather("A")
    world.start_b()
    with pytest.raises(Broke, match=re.escape(f"A#1 refuses it: there {here} as here")):
        world.run_for(5 * SECOND)
    assert not world.is_alive("B") and world.is_one("A")
    assert warned(caplog, "A") == [f"refused to let B#1 join: here {here} as at B#1"]
    world.start("C")
    assert world.is_soon_one("AC"), "who has the terms of the group still gets in"


@pytest.mark.parametrize(("config", "join", "here", "there"), DIFFERENT)
def test_two_founders_with_other_terms_do_not_merge_and_both_say_why_y08(
    config: dict[str, Any], join: dict[str, Any], here: str, there: str, caplog: pytest.LogCaptureFixture
) -> None:
    world = Different(config, **join)
    world.cut("A", "B")
    world.start("A")
    world.start_b()
    world.run_for(2 * SECOND)
    world.mend()
    world.run_for(10 * SECOND)
    assert world.is_one("A") and world.is_one("B")
    assert set(warned(caplog, "A")) == {f"this side and that of B#1 do not merge: here {here} as there"}
    assert set(warned(caplog, "B")) == {f"this side and that of A#1 do not merge: here {there} as there"}
    world.fault("one-way", "B", "C")
    world.start("C")
    assert world.is_soon_one("AC", 20 * SECOND), "attempts that are refused stop nothing else"


def test_a_small_window_is_taken_and_warned_of_where_it_enters_y08(caplog: pytest.LogCaptureFixture) -> None:
    world = Different({"capacity": 1})
    world.gather("A")
    world.start_b()
    assert world.is_soon_one("AB")
    assert world["A"].node.group.capacity == 1
    assert warned(caplog, "A") == ["B#1 joins with capacity 1: the whole group's window shrinks from 64"]


def test_the_words_name_each_difference() -> None:
    mine, theirs = Terms(1, 2, False, False), Terms(3, 2, True, False)
    assert mine.difference(mine) is None and mine.difference(None) is None
    assert mine.difference(theirs) == "max_message_bytes is 1, not 3, partition is 'all', not 'primary'"


def test_a_window_below_the_floor_is_no_config() -> None:
    with pytest.raises(ValueError, match="capacity must be at least capacity_floor 32, got 16"):
        Config(capacity=16, capacity_floor=32)
