"""A reader that waits runs in the wake that brings its message; a task may do with it what it does with a future."""

from __future__ import annotations

import asyncio
from contextvars import ContextVar, copy_context

import pytest

from ringcast.errors import UsageError
from ringcast.model import Message
from ringcast.runtime import Group, forms
from ringcast.runtime.handing import Waiter, Wake, waiter_type
from unit.runtime.test_group import World, in_world, read, until


@pytest.fixture(autouse=True, params=[pytest.param("native", marks=pytest.mark.needs("native")), "python"])
def waiters(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything here holds with waiters in C and without."""
    if request.param == "python":
        monkeypatch.setattr(forms, "native", None)


WHO: ContextVar[str] = ContextVar("WHO", default="nobody")


async def answer(group: Group) -> None:
    async for event in group:
        if isinstance(event, Message) and event.sender != group.me:
            await group.send(b"to " + event.payload)


@in_world
async def test_an_answer_leaves_in_the_turn_of_the_loop_that_brought_the_question(world: World) -> None:
    a, b = await world.open("A", "B", self_delivery=False)
    answering = asyncio.create_task(answer(b))
    await until(lambda: b._reading._reader is not None)
    out = world.transports["B"].counters
    before = out.frames_out
    await a.send(b"question")  # it waits in B's inbox, which the next turn empties
    assert out.frames_out == before
    await asyncio.sleep(0)
    assert out.frames_out == before + 1
    assert [m.payload for m in await read(a, 1)] == [b"to question"]
    answering.cancel()


@in_world
async def test_the_timer_is_looked_at_once_in_a_wake_that_answers(world: World) -> None:
    a, b = await world.open("A", "B", self_delivery=False)
    answering = asyncio.create_task(answer(b))
    await until(lambda: b._reading._reader is not None)
    asked = 0
    deadline_ns = b._node.deadline_ns

    def count() -> int | None:
        nonlocal asked
        asked += 1
        return deadline_ns()

    b._node.deadline_ns = count  # type: ignore[method-assign]
    await a.send(b"question")
    await asyncio.sleep(0)
    assert asked == 1
    answering.cancel()


@in_world
async def test_whoever_answers_itself_for_ever_leaves_the_loop_its_turns(world: World) -> None:
    a, b = await world.open("A", "B")

    async def echo_all(group: Group) -> None:
        async for event in group:
            if isinstance(event, Message):
                await group.send(event.payload)

    echoing = asyncio.create_task(echo_all(b))
    await a.send(b"again")
    for _ in range(200):
        await asyncio.sleep(0)
    echoing.cancel()


@in_world
async def test_a_reader_that_is_cancelled_when_its_message_came_has_taken_nothing(world: World) -> None:
    a, b = await world.open("A", "B", self_delivery=False)
    await anext(aiter(b))  # the view
    reading = asyncio.create_task(b.receive())
    await until(lambda: b._reading._reader is not None)
    b._reading.wake()  # by the loop: its step is still to come
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading
    await a.send(b"for the next")
    assert [m.payload for m in await read(b, 1)] == [b"for the next"]


@in_world
async def test_two_tasks_that_wait_to_read_are_one_too_many(world: World) -> None:
    (a,) = await world.open("A")
    await anext(aiter(a))
    first = asyncio.create_task(a.receive())
    await until(lambda: a._reading._reader is not None)
    with pytest.raises(UsageError, match="another task is reading"):
        await a.receive()
    first.cancel()


# ---- a wait


def test_a_wait_ends_when_it_is_woken_and_once() -> None:
    async def story() -> None:
        wake = Wake()
        waiter = waiter_type()(asyncio.get_running_loop(), wake.step_soon)
        waiting = asyncio.create_task(_wait(waiter))
        await asyncio.sleep(0)
        assert not waiting.done()
        waiter.wake()
        waiter.wake()
        assert not waiter.cancel()  # type: ignore[attr-defined]
        await waiting
        await _wait(waiter)  # it is over

    asyncio.run(story())


def test_a_wait_can_be_cancelled_and_timed_out() -> None:
    async def story() -> None:
        waiter = waiter_type()(asyncio.get_running_loop(), Wake().step_soon)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.001):
                await waiter
        assert waiter.is_over

    asyncio.run(story())


def test_steps_run_in_their_own_context_behind_the_frames_and_ends_behind_the_steps() -> None:
    async def story() -> None:
        wake, seen = Wake(), []
        loop = asyncio.get_running_loop()

        async def reader() -> None:
            WHO.set("the reader")
            await waiter
            seen.append(WHO.get())
            wake.at_end(lambda: seen.append("end"))
            seen.append("still running")

        waiter = waiter_type()(loop, wake.step_soon)
        reading = asyncio.create_task(reader(), context=copy_context())
        await asyncio.sleep(0)

        def frames() -> None:
            wake.is_taking = True
            waiter.wake()
            seen.append("frames")
            wake.is_taking = False
            wake.hand_over()
            seen.append("over")

        loop.call_soon(frames)
        await reading
        assert seen == ["frames", "the reader", "still running", "end", "over"]
        assert WHO.get() == "nobody"

    asyncio.run(story())


def test_from_inside_a_task_the_loop_takes_the_step() -> None:
    async def story() -> None:
        wake = Wake()
        waiter = waiter_type()(asyncio.get_running_loop(), wake.step_soon)
        reading = asyncio.create_task(_wait(waiter))
        await asyncio.sleep(0)
        wake.is_taking = True
        waiter.wake()
        wake.is_taking = False
        wake.hand_over()
        assert not reading.done()
        await reading

    asyncio.run(story())


def test_what_ends_the_process_passes_through_and_nobody_is_forgotten() -> None:
    async def story() -> None:
        wake, seen, loop = Wake(), [], asyncio.get_running_loop()

        def stop(_: object) -> None:
            wake.at_end(lambda: seen.append("end"))
            raise SystemExit(3)

        other, waiter = waiter_type()(loop, wake.step_soon), waiter_type()(loop, wake.step_soon)
        other.add_done_callback(lambda _: seen.append("the other"))  # type: ignore[attr-defined]
        waiter.add_done_callback(stop)  # type: ignore[attr-defined]

        def frames() -> None:
            wake.is_taking = True
            other.wake()
            waiter.wake()
            wake.is_taking = False
            with pytest.raises(SystemExit):
                wake.hand_over()

        loop.call_soon(frames)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert seen == ["end", "the other"]

    asyncio.run(story())


def test_a_step_that_nobody_drives_as_a_task_is_refused() -> None:
    async def story() -> None:
        coroutine = _wait(waiter_type()(asyncio.get_running_loop(), Wake().step_soon))
        coroutine.send(None)
        with pytest.raises(RuntimeError, match="no task"):
            coroutine.send(None)

    asyncio.run(story())


async def _wait(waiter: Waiter) -> None:
    await waiter
