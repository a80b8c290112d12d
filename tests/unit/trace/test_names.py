"""Directories of recordings have names that Spark's listings show."""

from __future__ import annotations

from pathlib import Path

import pytest

from ringcast.model import Address
from ringcast.trace import directory_for


@pytest.mark.parametrize("name", ["_b", ".h", "x:y", "plain"])
def test_a_members_directory_is_seen_by_spark(name: str) -> None:
    directory = directory_for(Path("root"), Address(name, 1, "mem:x")).name
    assert ":" not in directory and directory[0] not in "_."


def test_two_members_have_two_directories() -> None:
    names = ["_b", "b", ".b", "x:y", "xy", "x.y"]
    assert len({directory_for(Path("root"), Address(name, 1, "mem:x")) for name in names}) == len(names)
