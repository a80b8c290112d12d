"""The joining spool: in order through memory and disk, bounded, and refusing when it is full."""

import asyncio
import os
import tempfile
from collections.abc import Awaitable, Callable
from random import Random

import pytest

from ringcast.core import Channel, Deliver, Dequeue, Install
from ringcast.model import Address, View, ViewId
from ringcast.order import Stamp
from ringcast.runtime.spool import ITEM_BYTES, Spool

A = Address("A", 1, "mem:A")
VIEW = Install(View(ViewId(3, A), (A,)))


def run(story: Callable[[], Awaitable[None]]) -> None:
    async def limited() -> None:
        async with asyncio.timeout(60):
            await story()

    asyncio.run(limited())


def delivery(first: int, size: int = 100, count: int = 1) -> Deliver:
    return Deliver(A, Channel.GROUP, [b"%d" % first + bytes(size)] * count, first, count, count * (size + 1))


async def everything(spool: Spool) -> list[object]:
    found: list[object] = []
    while not spool.is_empty:
        await spool.fetch()
        found += spool.take()
    return found


def test_in_memory_it_gives_what_it_took_in_order() -> None:
    async def story() -> None:
        spool = Spool(100_000, 0, lambda: None)
        items = [delivery(1), VIEW, delivery(2)]
        assert all(map(spool.put, items)) and spool.messages == 2
        assert spool.take() == items
        assert spool.is_empty and spool.memory_bytes == spool.messages == 0

    run(story)


def test_without_a_disk_it_refuses_what_does_not_fit() -> None:
    async def story() -> None:
        spool = Spool(1_000, 0, lambda: None)
        taken = [number for number in range(10) if spool.put(delivery(number))]
        assert taken == [0, 1] and spool.memory_bytes <= 1_000
        assert spool.disk_bytes == 0

    run(story)


def test_what_went_over_the_disk_comes_back_whole_and_in_order() -> None:
    async def story() -> None:
        ordered = Dequeue(A, Channel.PEER, [b"x", b""], 7, 2, 1, 0, stamp=Stamp(3, 9))
        items: list[object] = [delivery(1), ordered, VIEW, Deliver(A, Channel.PEER, [b"p"], 1, 1, 1, 5)]
        items += [delivery(number) for number in range(2, 300)]
        room = asyncio.Event()
        spool = Spool(4_000, 1_000_000, room.set)
        for item in items:
            while not spool.put(item):
                room.clear()
                await room.wait()
            assert spool.memory_bytes <= 4_000
        assert spool.disk_bytes > 10_000
        found = await everything(spool)
        assert found == items and list(map(type, found)) == list(map(type, items))
        assert spool.memory_bytes == spool.disk_bytes == spool.messages == 0

    run(story)


@pytest.mark.parametrize("memory", [1_000_000, 4_000])
def test_what_is_part_of_any_state_goes_views_and_what_went_to_some_stay_in_order(memory: int) -> None:
    async def story() -> None:
        items: list[object] = []
        for number in range(1, 100):
            items += [delivery(number), Deliver(A, Channel.PEER, [b"p"], number, 1, 1, 5)]
            items += [VIEW, Dequeue(A, Channel.GROUP, [b"x"], 2 * number, 1, 1, 0, stamp=Stamp(3, 2 * number))]
            place = Stamp(3, 2 * number + 1)
            items.append(Dequeue(A, Channel.PEER, [b"x"], 2 * number + 1, 1, 1, 0, stamp=place, to=(A,)))
        room = asyncio.Event()
        spool = Spool(memory, 1_000_000, room.set)
        for item in items:
            while not spool.put(item):
                room.clear()
                await room.wait()
        spool.void()  # Some of it is in memory, some on the disk, some on its way there.
        assert spool.messages == 2 * 99 and spool.ordered_to_some == 99
        while not spool.put(delivery(100)):
            room.clear()
            await room.wait()
        found = await everything(spool)
        stayed = [item for item in items if not isinstance(item, Deliver) or item.channel is Channel.PEER]
        assert found == [*stayed, delivery(100)]
        assert spool.memory_bytes == spool.disk_bytes == spool.messages == 0

    run(story)


@pytest.mark.parametrize("memory", [1_000_000, 4_000])
def test_views_can_be_taken_out_so_that_only_private_messages_stay(memory: int) -> None:
    async def story() -> None:
        private = [Deliver(A, Channel.PEER, [b"p"], number, 1, 1, 5) for number in range(1, 100)]
        room = asyncio.Event()
        spool = Spool(memory, 1_000_000, room.set)
        for number, item in enumerate(private, 1):
            for each in (delivery(number), item, VIEW):
                while not spool.put(each):
                    room.clear()
                    await room.wait()
        assert spool.void_to_some() == [VIEW] * 99
        assert spool.messages == 99 and spool.void_to_some() == []
        assert await everything(spool) == private
        assert spool.memory_bytes == spool.disk_bytes == spool.messages == 0

    run(story)


def test_what_came_behind_a_void_stays_although_the_disk_refuses_what_was_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*_: object) -> int:
        raise OSError("no space left on device")

    async def story() -> None:
        monkeypatch.setattr(os, "pwrite", refuse)
        spool = Spool(100_000, 1_000_000, lambda: None)
        private = Deliver(A, Channel.PEER, [bytes(74_000)], 1, 1, 74_000, 5)
        assert spool.put(private) and not spool._write
        assert spool.put(delivery(1, 1_000)) and spool._write  # On its way to the disk.
        spool.void()
        assert spool.put(VIEW) and spool.put(delivery(2))
        await asyncio.wait([spool._write])
        await asyncio.sleep(0)
        assert await everything(spool) == [private, VIEW, delivery(2)]
        assert spool.memory_bytes == spool._waiting_bytes == spool.messages == 0

    run(story)


def test_a_block_that_is_voided_while_it_is_read_gives_what_stays() -> None:
    async def story() -> None:
        spool = Spool(0, 1_000_000, lambda: None)
        private = Deliver(A, Channel.PEER, [b"p"], 1, 1, 1, 5)
        for item in (private, delivery(1)):
            assert spool.put(item) and spool._write
            await asyncio.wait([spool._write])
            await asyncio.sleep(0)
        reading = asyncio.create_task(spool.fetch())
        await asyncio.sleep(0)
        spool.void()
        await reading
        assert await everything(spool) == [private]
        assert spool.memory_bytes == spool.disk_bytes == spool.messages == 0

    run(story)


def test_a_spool_that_is_void_and_holds_nothing_else_is_empty_at_once() -> None:
    async def story() -> None:
        spool = Spool(0, 1_000_000, lambda: None)
        spool.put(delivery(1))
        assert spool._write is not None
        await asyncio.wait([spool._write])
        await asyncio.sleep(0)
        spool.void()
        assert spool.is_empty and spool._file is None and spool.memory_bytes == spool.messages == 0

    run(story)


def test_the_disk_is_bounded_too() -> None:
    async def story() -> None:
        room = asyncio.Event()
        spool = Spool(4_000, 20_000, room.set)
        number = 0
        while True:
            if spool.put(delivery(number)):
                number += 1
                continue
            if spool._write is None:
                break
            room.clear()
            await room.wait()
        assert 10_000 < spool.disk_bytes <= 20_000
        assert [item.first for item in await everything(spool) if isinstance(item, Deliver)] == list(range(number))

    run(story)


def test_its_file_has_no_name_and_only_its_owner_may_read_it(monkeypatch: pytest.MonkeyPatch, tmp_path: object) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    async def story() -> None:
        spool = Spool(0, 1_000_000, lambda: None)
        spool.put(delivery(1))
        assert spool._write is not None
        await spool._write
        assert spool._file is not None
        status = os.fstat(spool._file.fileno())
        assert (status.st_nlink, status.st_mode & 0o777, status.st_uid) == (0, 0o600, os.getuid())
        assert os.listdir(str(tmp_path)) == []
        spool.clear()
        assert spool._file is None

    run(story)


def test_a_disk_that_refuses_leaves_everything_in_memory_and_then_the_spool_is_full(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(**_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(tempfile, "TemporaryFile", refuse)

    async def story() -> None:
        spool = Spool(4_000, 1_000_000, lambda: None)
        taken = []
        for number in range(100):
            if spool.put(delivery(number)):
                taken.append(number)
            await asyncio.sleep(0)
        while spool._write is not None:
            await asyncio.sleep(0)
        assert not spool.put(delivery(200))
        assert [item.first for item in await everything(spool) if isinstance(item, Deliver)] == taken
        assert taken == list(range(len(taken))) and len(taken) < 20

    run(story)


def test_cleared_it_keeps_views_only_and_takes_again() -> None:
    async def story() -> None:
        spool = Spool(2_000, 1_000_000, lambda: None)
        for number in range(8):
            spool.put(delivery(number))
            await asyncio.sleep(0)
        while not spool.put(VIEW):
            await asyncio.sleep(0.001)
        assert spool.clear() == [VIEW]
        assert spool.is_empty and spool.memory_bytes == spool.messages == 0
        after = [delivery(number) for number in range(100, 104)]
        assert all(map(spool.put, after))
        assert await everything(spool) == after

    run(story)


@pytest.mark.parametrize("seed", range(20))
def test_any_mix_of_putting_clearing_and_taking_keeps_the_order_and_the_bounds(seed: int) -> None:
    async def story() -> None:
        random = Random(f"spool {seed}")
        spool = Spool(random.choice([0, 3_000, 20_000]), random.choice([0, 30_000, 1_000_000]), lambda: None)
        expected: list[object] = []
        found: list[object] = []
        for number in range(400):
            item = VIEW if random.random() < 0.05 else delivery(number, random.randrange(300), random.randrange(1, 4))
            if spool.put(item):
                expected.append(item)
            if random.random() < 0.3:
                await asyncio.sleep(random.choice([0, 0, 0.001]))
            if random.random() < 0.01:
                expected = [item for item in expected if item is VIEW]
                kept = spool.clear()
                assert kept == expected
                expected = []
            views = sum(item is VIEW for item in expected)
            assert spool.memory_bytes <= spool.memory_limit + 1_400 + views * ITEM_BYTES
            assert spool.disk_bytes <= spool.disk_limit
        found += await everything(spool)
        assert found == expected
        assert spool.memory_bytes == spool.messages == 0

    run(story)
