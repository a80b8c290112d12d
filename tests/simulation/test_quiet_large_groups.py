"""A large group without traffic logs no warning at joins and crashes: nobody in it stands still, nobody is doubted."""

from __future__ import annotations

import logging

import pytest

from ringcast.runtime import Group
from ringcast.testing import World

JOINS = CRASHES = 10


async def read(group: Group) -> None:
    async for _ in group:
        pass


@pytest.mark.parametrize("size", [25, 100])
def test_ten_joins_and_ten_crashes_in_a_quiet_group_log_no_warning(size: int, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "ringcast"), World(read, size, config="lan") as world:
        world.advance(10)
        for number in range(JOINS):
            world.start(f"late{number}")
            world.agree()
            world.advance(3)
        for name in world.names[5 : 5 + CRASHES]:
            world.crash(name)
            world.agree()
            world.advance(3)
    said = [record.getMessage() for record in caplog.records]
    assert not said
