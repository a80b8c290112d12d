"""The mark of primary views outlives the process; a file that cannot be trusted is refused in a sentence (G17)."""

import asyncio
import os
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from ringcast.errors import ConfigError, RingcastError
from ringcast.model import MS, Address, Electorate, Mark, ViewId, profile
from ringcast.runtime import Group, join
from ringcast.runtime.mark_file import MarkFile
from unit.runtime.test_join import World, in_world, until

A, B = Address("A", 1, "mem:A"), Address("B", 1, "mem:B")
MARK = Mark(Electorate(ViewId(3, A), (A, B)), (Electorate(ViewId(4, B), (B,)),), False, ((A, B),), 0, ViewId(0, A))


async def kept(path: Path, *marks: Mark, group: str = "g", name: str = "A") -> list[RingcastError | None]:
    file, done = MarkFile(path, group, name), asyncio.Event()
    errors: list[RingcastError | None] = []

    def on_done(error: RingcastError | None) -> None:
        errors.append(error)
        if len(errors) == len(marks):
            done.set()

    for mark in marks:
        file.keep(A, mark, on_done)
    await done.wait()
    await file.close()
    return errors


def read(path: Path, group: str = "g", name: str = "A") -> tuple[Address, Mark] | None:
    async def open_and_close() -> tuple[Address, Mark] | None:
        file = MarkFile(path, group, name)
        await file.close()
        return file.known

    return asyncio.run(open_and_close())


def test_what_was_kept_last_is_known_again_and_closed_to_others(tmp_path: Path) -> None:
    path = tmp_path / "mark"
    assert read(path) is None
    assert asyncio.run(kept(path, MARK._replace(attempts=()), MARK)) == [None, None]
    assert read(path) == (A, MARK)
    assert path.stat().st_mode & 0o777 == 0o600
    assert sorted(os.listdir(tmp_path)) == ["mark", "mark.lock"]


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "is damaged or not a mark file"),
        (b"\xff\xfe not json", "is damaged or not a mark file"),
        (b'{"format": "something else"}', "is damaged or not a mark file"),
        (b"[" * 100_000, "is damaged or not a mark file"),
    ],
)
def test_a_file_that_is_none_is_refused(tmp_path: Path, content: bytes, why: str) -> None:
    path = tmp_path / "mark"
    path.write_bytes(content)
    path.chmod(0o600)
    with pytest.raises(ConfigError, match=why):
        read(path)
    assert path.read_bytes() == content


def test_every_single_damaged_byte_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "mark"
    asyncio.run(kept(path, MARK))
    whole = path.read_bytes()
    for place in range(0, len(whole), 7):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        with pytest.raises(ConfigError, match="primary_mark"):
            read(path)
    for length in range(0, len(whole), 50):
        path.write_bytes(whole[:length])
        with pytest.raises(ConfigError, match="damaged"):
            read(path)


def test_another_groups_or_another_members_mark_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "mark"
    asyncio.run(kept(path, MARK))
    with pytest.raises(ConfigError, match="is the mark of group 'g', not of 'other'"):
        read(path, group="other")
    with pytest.raises(ConfigError, match="is the mark of member 'A', not of 'B'"):
        read(path, name="B")


def test_a_file_that_others_may_touch_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "mark"
    asyncio.run(kept(path, MARK))
    path.chmod(0o644)
    with pytest.raises(ConfigError, match="closed to others"):
        read(path)
    with pytest.raises(ConfigError, match="cannot be used: No such file"):
        read(tmp_path / "nowhere" / "mark")
    with pytest.raises(ConfigError, match="mark"):
        read(tmp_path)


def test_two_processes_do_not_share_a_mark(tmp_path: Path) -> None:
    async def twice() -> None:
        first = MarkFile(tmp_path / "mark", "g", "A")
        with pytest.raises(ConfigError, match="in use by another process"):
            MarkFile(tmp_path / "mark", "g", "A")
        await first.close()
        await MarkFile(tmp_path / "mark", "g", "A").close()

    asyncio.run(twice())


def test_a_mark_that_cannot_be_written_is_an_error_that_says_so(tmp_path: Path) -> None:
    (tmp_path / "mark").mkdir(mode=0o700)

    async def write() -> list[RingcastError | None]:
        (tmp_path / "mark").rmdir()
        file = MarkFile(tmp_path / "mark", "g", "A")
        (tmp_path / "mark").mkdir()
        done: asyncio.Future[RingcastError | None] = asyncio.get_running_loop().create_future()
        file.keep(A, MARK, done.set_result)
        error = await done
        await file.close()
        return [error]

    (error,) = asyncio.run(write())
    assert error is not None and "cannot be written" in str(error)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"quorum": 2}, "are for partition='primary'"),
        ({"primary_mark": "x"}, "are for partition='primary'"),
        ({"primary_mark": "x", "partition": "primary"}, "needs a name"),
        ({"quorum": -1, "partition": "primary"}, "quorum must be"),
        ({"quorum": "2", "partition": "primary"}, "quorum must be"),
    ],
)
def test_options_that_do_not_go_together_are_refused_at_once(options: dict[str, object], why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        join("g", **options)  # type: ignore[arg-type]


@in_world
async def test_a_process_that_is_started_again_votes_as_before(world: World) -> None:
    """Both of two restart: B alone remembers the primary view of both and is not primary; with A it is."""
    with TemporaryDirectory() as directory:

        async def enter(name: str) -> Group:
            options: dict[str, Any] = {"partition": "primary", "primary_mark": Path(directory, name), "found": True}
            return await world.joining(name, seeds=("mem:A", "mem:B"), **options)

        a, b = await enter("A"), await enter("B")
        await until(lambda: all(len(group.members) == 2 and group.view.is_primary for group in (a, b)))
        voters = a.view.voters
        await asyncio.gather(a.close(), b.close())
        b = await enter("B")
        assert not b.view.is_primary and b.view.mark is not None and b.view.mark.last.voters == voters
        a = await enter("A")
        await until(lambda: all(len(group.members) == 2 and group.view.is_primary for group in (a, b)))
        assert sorted(a.view.mark.last.voters) == sorted(voters)  # type: ignore[union-attr]
        await asyncio.gather(a.close(), b.close())


@in_world
async def test_how_many_were_expected_is_known_to_a_process_that_is_started_again(world: World) -> None:
    """Simulated seed 240583: cut off and not told again, it began a second chain of primary views alone."""
    with TemporaryDirectory() as directory:

        async def enter(**options: Any) -> Group:
            config = profile("test", expect_ns=100 * MS)
            mark = Path(directory, "A")
            return await world.joining("A", config=config, partition="primary", primary_mark=mark, **options)

        for options, is_primary in (({"expect": 3}, False), ({}, False), ({"expect": 1}, True), ({}, True)):
            a = await enter(**options)
            assert a.view.is_primary == is_primary
            await a.close()
