"""The pytest plugin that comes with ringcast: worlds for a test, closed and judged at its end.

    def test_both_sides_agree_after_a_partition(ringcast_world):
        world = ringcast_world(KeyValueStore, members=5)

    pytest --ringcast-seeds 50      every such test fifty times, each on a seed of its own
    pytest --ringcast-seed 17       the same again

pytest imports this file in every run where ringcast is installed, so it is light: the room with the worlds, and with it
asyncio and the core, is imported when the first test asks for a world.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from ringcast.testing import World

STORY_LINES = 100  # the end of the story that is shown for a test that failed

_worlds = pytest.StashKey[list["World"]]()
_has_failed = pytest.StashKey[bool]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("ringcast")
    group.addoption("--ringcast-seed", type=int, default=None, help="run tests with ringcast_world on this seed")
    group.addoption("--ringcast-seeds", type=int, default=1, help="run them on so many seeds, from 0 on")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "ringcast_seed" not in metafunc.fixturenames:
        return
    one, many = metafunc.config.getoption("--ringcast-seed"), metafunc.config.getoption("--ringcast-seeds")
    seeds = range(many) if one is None else [one]
    metafunc.parametrize("ringcast_seed", seeds, ids=[f"seed={seed}" for seed in seeds], indirect=True)


@pytest.fixture
def ringcast_seed(request: pytest.FixtureRequest) -> int:
    """The seed of this run of the test."""
    return int(request.param)


@pytest.fixture
def ringcast_world(request: pytest.FixtureRequest, ringcast_seed: int) -> Iterator[Callable[..., World]]:
    """Makes worlds: `ringcast_world(app, members=5)`; options are those of `ringcast.testing.World`."""
    from ringcast.testing import World

    worlds: list[World] = request.node.stash.setdefault(_worlds, [])

    def make(app: Any, members: Any = 3, **options: Any) -> World:
        worlds.append(World(app, members, **{"seed": ringcast_seed} | options))
        return worlds[-1]

    yield make
    has_failed = request.node.stash.get(_has_failed, False)
    for world in worlds:
        if has_failed:
            world.abandon()
        else:
            world.close()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.failed:
        item.stash[_has_failed] = True
        for world in item.stash.get(_worlds, []):
            lines = [*world.story()[-STORY_LINES:], f"replay: pytest --ringcast-seed {world.seed} {item.nodeid}"]
            report.sections.append((f"ringcast world, seed {world.seed}", "\n".join(lines)))
    return report
