"""Who founds a group, and when: never in silence beside others, and above every number that was seen before."""

import asyncio
import logging
import tempfile
from pathlib import Path

import pytest

from ringcast.errors import ConfigError, WaitExpired
from ringcast.model import Message, profile
from ringcast.runtime import join
from ringcast.runtime.remembered import FORMAT, MAX_BYTES, Remembered
from ringcast.transport import MemoryHub
from unit.runtime.test_agreement import joining
from unit.runtime.test_join import World, in_world, until
from unit.runtime.virtual import in_virtual_world


@in_virtual_world
async def test_a_process_that_would_be_primary_alone_founds_no_group_unless_it_is_told_to(world: World) -> None:
    """It was primary beside a running primary group that it did not reach."""
    a = await world.joining("A", partition="primary", found=True)
    world.transports["A"].close()  # Nothing reaches it any more.
    with pytest.raises(
        WaitExpired, match=r"nobody answers at mem:A, and this process was not told to found a group \(found, expect\)"
    ):
        await world.joining("B", partition="primary", timeout=5)
    with pytest.raises(WaitExpired, match="was not told to found a group"):
        await world.joining("C", partition="primary", seeds=(), timeout=5)
    assert a.view.is_primary
    await a.close()


def test_nor_does_one_that_keeps_a_mark_file(tmp_path: Path) -> None:
    async def story() -> None:  # In real time, because a thread stores the mark.
        with pytest.raises(WaitExpired, match="was not told to found a group"):
            await joining(MemoryHub(), "D", partition="primary", primary_mark=tmp_path / "D", timeout=0.5)

    asyncio.run(story())


@pytest.mark.parametrize("told", [{"found": True}, {"expect": 1}, {"quorum": 1}], ids=str)
def test_a_primary_group_is_founded_by_who_is_told_to(told: dict[str, object]) -> None:
    @in_virtual_world
    async def story(world: World) -> None:
        (a,) = await world.enter("A", partition="primary", **told)
        assert a.view.is_primary
        quorum = {key: value for key, value in told.items() if key == "quorum"}
        (b,) = await world.enter("B", partition="primary", **quorum)
        assert b.members == a.members

    story()


@in_virtual_world
async def test_who_never_founds_waits_for_the_group(world: World) -> None:
    waiting = asyncio.ensure_future(world.joining("B", found=False, timeout=60)._enter())
    await asyncio.sleep(20)
    assert not waiting.done()
    (a,) = await world.enter("A")
    b = await waiting
    assert b.members == a.members
    await b.close()
    with pytest.raises(WaitExpired, match="was not told to found a group"):
        await world.joining("C", seeds=("mem:X",), found=False, timeout=5)


@in_virtual_world
async def test_only_the_first_seed_founds(world: World) -> None:
    seeds = ("mem:A", "mem:B", "mem:C")
    waiting = [asyncio.ensure_future(world.joining(name, seeds=seeds, found="first")._enter()) for name in "BC"]
    await asyncio.sleep(20)
    assert not any(task.done() for task in waiting)
    (a,) = await world.enter("A", seeds=seeds, found="first")
    b, c = [await task for task in waiting]
    await until(lambda: a.members == b.members == c.members and len(a.members) == 3)
    await b.close()
    await c.close()
    with pytest.raises(ConfigError, match="found='first' needs seeds"):
        world.joining("D", seeds=(), found="first")
    with pytest.raises(ConfigError, match="found must be True, False or 'first', got 'never'"):
        join("g", found="never")  # type: ignore[arg-type]


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]


def test_a_group_that_is_founded_although_others_were_to_be_there_is_warned_of(
    caplog: pytest.LogCaptureFixture,
) -> None:
    @in_virtual_world
    async def story(world: World) -> None:
        await world.enter("A", seeds=())
        assert warnings(caplog) == []
        await world.enter("B", seeds=("mem:X",))
        (warning,) = warnings(caplog)
        assert "B#2 has founded the group 'g' alone: nobody answers at mem:X" in warning
        caplog.clear()
        config = profile("test", expect_ns=10**9)
        await world.enter("C", seeds=(), expect=3, config=config)
        assert warnings(caplog) == ["C#3 has founded the group 'g': 3 were expected, and 1 known"]

    story()


@in_virtual_world
async def test_a_member_that_left_and_is_started_again_without_a_seed_finds_the_others_in_its_file(
    world: World,
) -> None:
    """It founded a second group in silence, and the two never met."""
    with tempfile.TemporaryDirectory() as directory:
        a, b = [await world.joining(n, remember=Path(directory, n)) for n in "AB"]
        await a.leave()
        assert Remembered(Path(directory, "A"), "g").members == ["mem:B"]
        again = await world.joining("A", seeds=(), remember=Path(directory, "A"))
        assert again.members == b.members and len(b.members) == 2
        await again.close()
        await b.close()


@pytest.mark.parametrize("partition", ["all", "primary"])
def test_a_group_whose_members_all_restart_goes_on_above_the_numbers_that_their_files_have_seen(partition: str) -> None:
    """Fencing tokens went backwards: 7.0, then 1.0."""

    @in_virtual_world
    async def story(world: World) -> None:
        with tempfile.TemporaryDirectory() as directory:

            async def start(name: str, **options: object) -> object:
                path = Path(directory, name)
                return await world.joining(name, remember=path, partition=partition, found=True, **options)

            a, b = [await start(name) for name in "AB"]
            for _ in range(3):
                await b.leave()  # type: ignore[attr-defined]
                b = await start("B")
            number = a.view.id.number  # type: ignore[attr-defined]
            assert number >= 7
            await b.leave()  # type: ignore[attr-defined]
            await a.leave()  # type: ignore[attr-defined]
            a = await start("A")
            assert a.view.id.number > number  # type: ignore[attr-defined]
            await a.close()  # type: ignore[attr-defined]

    story()


@in_world
async def test_a_mark_file_alone_keeps_the_numbers_growing_too(world: World) -> None:
    with tempfile.TemporaryDirectory() as directory:
        seen = 0
        for _ in range(4):
            mark = Path(directory, "A")
            a = await world.joining("A", partition="primary", found=True, primary_mark=mark)
            assert a.view.id.number > seen and a.view.is_primary
            seen = a.view.id.number
            await a.close()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"garbage",
        b"[" * 10_000,
        b'{"format":"another 1","group":"g","highest":3,"members":[]}',
        f'{{"format":"{FORMAT}","group":"g","highest":"x","members":[]}}'.encode(),
        f'{{"format":"{FORMAT}","group":"g","highest":3,"members":["{"x" * MAX_BYTES}"]}}'.encode(),
    ],
    ids=["empty", "garbage", "nested", "another format", "of other types", "too long"],
)
def test_a_file_that_cannot_be_read_is_as_good_as_none(
    content: bytes, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "members"
    path.write_bytes(content)
    remembered = Remembered(path, "g")
    assert (remembered.members, remembered.highest) == ([], 0)
    assert str(path) in warnings(caplog)[0]
    asyncio.run(remembered.close())


def test_places_that_are_none_are_left_out_and_the_number_is_bounded(tmp_path: Path) -> None:
    path = tmp_path / "members"
    places = ["127.0.0.1:7001", "nowhere", "mem:B", "", *(f"10.0.0.1:{port}" for port in range(1000, 1200))]
    listed = ",".join(f'"{place}"' for place in places)
    path.write_text(f'{{"format":"{FORMAT}","group":"g","highest":9,"members":[{listed}]}}')
    remembered = Remembered(path, "g")
    assert remembered.members[:2] == ["127.0.0.1:7001", "mem:B"] and len(remembered.members) <= 64
    assert remembered.highest == 9
    with pytest.raises(ConfigError, match="is the file of group 'g', not of 'h'"):
        Remembered(path, "h")
    asyncio.run(remembered.close())


def test_a_file_that_cannot_be_written_is_said_once_and_the_member_goes_on(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    @in_virtual_world
    async def story(world: World) -> None:
        a = await world.joining("A", remember=tmp_path / "nowhere" / "A")
        b = await world.joining("B")
        await a.send(b"x")
        while not isinstance(await b.receive(), Message):
            pass
        await b.close()
        await a.leave()

    story()
    assert sum("cannot be written" in warning for warning in warnings(caplog)) == 1
