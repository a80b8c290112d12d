"""The logger "ringcast": one line at INFO for each view, join, leave, suspicion, merge and exclusion."""

import logging
from collections import Counter

import pytest

from ringcast.testing import World
from unit.testing.stores import Log


def lines(caplog: pytest.LogCaptureFixture, who: str, level: int = logging.INFO) -> list[str]:
    found = [record.getMessage() for record in caplog.records if record.levelno == level]
    return [text.split(": ", 1)[1] for text in found if text.startswith(f"{who}#") and " in group world: " in text]


def test_views_joins_and_leaves_stand_once_each(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "ringcast"), World(Log, 2) as world:
        world.start("C")
        world.agree()
        world.leave("C")
        world.agree()
    at_a = lines(caplog, "A")
    assert Counter(at_a).most_common(1)[0][1] == 1
    assert at_a[0].startswith("joined, view ")
    assert sum(line == "C#1 joined" for line in at_a) == 1
    assert sum(line == "C#1 left" for line in at_a) == 1
    assert sum(line.startswith("view ") and line.endswith("A#1, B#1, C#1") for line in at_a) == 1


def test_suspicions_exclusions_and_merges_stand_once_each(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "ringcast"), World(Log, 3) as world:
        world.isolate("C")
        world.advance(5)
        world.heal()
        world.agree()
    at_a = lines(caplog, "A")
    assert sum(line.startswith("suspects C#1: ") for line in at_a) == 1
    assert sum(line.startswith("C#1 was excluded: ") for line in at_a) == 1
    assert sum(line.startswith("merged, view ") and " with " in line for line in at_a) == 1


def test_debug_tells_each_step_of_membership(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, "ringcast"), World(Log, 2):
        pass
    assert any(line.startswith("ROLL_CALL") for line in lines(caplog, "A", logging.DEBUG))


def test_nobody_who_does_not_listen_is_told(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "ringcast"), World(Log, 2):
        pass
    assert caplog.records == []
