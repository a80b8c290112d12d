"""The limit of a join is that of the whole join: no step of it is awaited any longer, not even its end."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from ringcast.errors import ConfigError, WaitExpired
from ringcast.model import Address, Mark, profile
from ringcast.runtime import MarkStore
from ringcast.runtime.discovery import StaticDiscovery
from ringcast.runtime.host import RealHost
from ringcast.runtime.mark_file import MarkFile
from ringcast.transport import Endpoint
from unit.runtime.test_join import World, in_world, until


class StuckFile(MarkFile):
    """Its disk stores nothing until somebody lets it."""

    def __init__(self, path: Path, group: str, name: str, may_write: threading.Event) -> None:
        super().__init__(path, group, name)
        self._may_write = may_write

    def _write(self, me: Address, mark: Mark) -> None:
        self._may_write.wait()
        super()._write(me, mark)


class StuckDisk(RealHost):
    def __init__(self) -> None:
        self.may_write = threading.Event()

    def marks(self, path: Path, group: str, name: str) -> MarkStore:
        return StuckFile(path, group, name, self.may_write)


@in_world
async def test_a_join_whose_mark_file_is_not_stored_ends_by_its_limit_and_names_the_disk(world: World) -> None:
    world.host = disk = StuckDisk()
    with TemporaryDirectory() as directory:
        path = Path(directory, "mark")
        with pytest.raises(WaitExpired, match=rf"within 0.4 s: the disk of {path} has been storing this member's mark"):
            await world.joining("A", partition="primary", primary_mark=path, timeout=0.4)
        assert not disk.may_write.is_set()  # Nobody waited for it, also not at the end.
        with pytest.raises(ConfigError, match="in use"):
            MarkFile(path, "g", "A")
        disk.may_write.set()

        def is_free() -> bool:
            try:
                file = MarkFile(path, "g", "A")
            except ConfigError:
                return False
            file.release()
            return True

        await until(is_free)


class NeverOpen(StaticDiscovery):
    async def open(self, group: str, local: Endpoint) -> None:
        await asyncio.Event().wait()


@in_world
async def test_a_join_whose_discovery_does_not_open_ends_by_its_limit(world: World) -> None:
    with pytest.raises(WaitExpired, match=r"no view of group 'g' within 0.1 s"):
        await world.joining("A", seeds=(), discovery=NeverOpen([]), timeout=0.1)


@in_world
async def test_who_leaves_again_for_want_of_the_state_is_not_waited_for_behind_the_limit(world: World) -> None:
    """Nobody answers its leave, which has a limit of its own: the join has ended by then."""

    async def never(chunks: AsyncIterator[bytes]) -> None:
        cut_off()
        await asyncio.Event().wait()

    def cut_off() -> None:
        world.transports["B"].block([world.transports["A"].local])
        world.transports["A"].block([world.transports["B"].local])

    (a,) = await world.enter("A", get_state=lambda: b"state", set_state=never)
    config = profile("test", leave=1.5)
    joining = world.joining("B", get_state=lambda: b"", set_state=never, timeout=0.5, config=config)
    with pytest.raises(WaitExpired, match="set_state has not returned"):
        await joining
    leaving = joining._place.leaving
    assert leaving is not None and not leaving.done()
    await until(lambda: len(a.members) == 1)
    await leaving
