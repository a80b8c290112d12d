"""asyncio on a simulated clock: what user code awaits takes virtual time only."""

import asyncio
import gc
import time
import warnings
from collections.abc import Coroutine
from typing import Any

import pytest

from ringcast.sim import Clock
from ringcast.testing import VirtualLoop


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def loop(clock: Clock) -> VirtualLoop:
    return VirtualLoop(clock, lambda context: pytest.fail(str(context)))  # type: ignore[abstract]


def finish(clock: Clock, loop: VirtualLoop, work: Coroutine[Any, Any, Any], by_ns: int = 10**15) -> Any:
    task = loop.create_task(work)
    while not task.done() and clock.next_ns is not None and clock.next_ns <= by_ns:
        clock.step()
    return task.result()


def test_a_day_of_sleep_takes_no_real_time(clock: Clock, loop: VirtualLoop) -> None:
    began = time.monotonic()
    finish(clock, loop, asyncio.sleep(86_400))
    assert clock.now_ns == 86_400 * 10**9
    assert time.monotonic() - began < 60  # not a measurement: a real day is longer


def test_a_timeout_comes_in_virtual_time(clock: Clock, loop: VirtualLoop) -> None:
    async def wait() -> float:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(2.5):
                await asyncio.get_running_loop().create_future()
        return asyncio.get_running_loop().time()

    assert finish(clock, loop, wait()) == 2.5


def test_queues_events_and_task_groups_work(clock: Clock, loop: VirtualLoop) -> None:
    async def work() -> list[int]:
        queue: asyncio.Queue[int] = asyncio.Queue(1)

        async def produce() -> None:
            for number in range(3):
                await queue.put(number)
                await asyncio.sleep(1)

        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(produce())
            return [await queue.get() for _ in range(3)]

    assert finish(clock, loop, work()) == [0, 1, 2]
    assert clock.now_ns == 3 * 10**9


def test_callbacks_of_one_moment_run_in_the_order_in_which_they_were_planned(clock: Clock, loop: VirtualLoop) -> None:
    said: list[str] = []
    loop.call_later(1, said.append, "b")
    loop.call_soon(said.append, "a")
    loop.call_at(1.0, said.append, "c")
    loop.call_later(1, said.append, "never").cancel()
    clock.run_until(2 * 10**9)
    assert said == ["a", "b", "c"]


def test_what_is_given_to_a_thread_runs_in_its_place(clock: Clock, loop: VirtualLoop) -> None:
    async def work() -> tuple[int, str]:
        try:
            await asyncio.to_thread(int, "x")
        except ValueError as error:
            return await asyncio.to_thread(sum, [1, 2]), str(error)
        return 0, ""

    assert finish(clock, loop, work()) == (3, "invalid literal for int() with base 10: 'x'")


def test_a_frozen_loop_does_later_what_was_due_and_a_dead_one_never(clock: Clock, loop: VirtualLoop) -> None:
    said: list[str] = []
    loop.call_later(1, said.append, "one")
    loop.freeze()
    clock.run_until(5 * 10**9)
    assert said == []
    loop.thaw()
    clock.run_until(5 * 10**9)
    assert said == ["one"]
    loop.call_later(1, said.append, "two")
    loop.die()
    clock.run_until(9 * 10**9)
    assert said == ["one"]


def test_the_loop_of_the_test_around_it_is_left_alone(clock: Clock, loop: VirtualLoop) -> None:
    async def outside() -> bool:
        mine = asyncio.get_running_loop()
        finish(clock, loop, asyncio.sleep(1))
        return asyncio.get_running_loop() is mine

    assert asyncio.run(outside())


def test_there_are_no_sockets(clock: Clock, loop: VirtualLoop) -> None:
    with pytest.raises(NotImplementedError):
        finish(clock, loop, loop.create_connection(asyncio.Protocol, "127.0.0.1", 1))


def test_a_task_that_death_came_before_never_runs_and_is_not_reported_as_forgotten(
    clock: Clock, loop: VirtualLoop
) -> None:
    """Made in the callback in which the process died, before that or behind it; `bury` ends it."""
    ran: list[str] = []

    async def begin(what: str) -> None:
        ran.append(what)

    def die() -> None:
        loop.create_task(begin("before"))
        loop.die()
        loop.create_task(begin("behind"))

    loop.call_soon(die)
    clock.run_until(1)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        loop.bury()
        clock.run_until(2)
        assert (ran, loop.unfinished()) == ([], [])
        gc.collect()
    assert said == []
