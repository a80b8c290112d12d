"""The synchronous face: two groups in one process, each with its thread, over real loopback sockets."""

import asyncio
import gc
import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from types import FrameType
from typing import Any

import pytest

import ringcast
from ringcast import GroupClosed, Message, UsageError, ViewChange, WaitExpired, profile, sync


@pytest.fixture
def pair() -> Iterator[tuple[sync.Group, sync.Group]]:
    with ExitStack() as stack:
        config = profile("test")
        a = stack.enter_context(sync.join("g", name="A", config=config, inspect=False))
        b = stack.enter_context(sync.join("g", name="B", seeds=[a.me.endpoint], config=config, inspect=False))
        while len(a.members) < 2:
            a.receive(timeout=30)
        yield a, b


def messages(group: sync.Group, count: int) -> list[bytes]:
    found: list[bytes] = []
    while len(found) < count:
        event = group.receive(timeout=30)
        if isinstance(event, Message):
            found.append(event.payload)
    return found


def test_a_script_sends_and_reads_without_await(pair: tuple[sync.Group, sync.Group]) -> None:
    a, b = pair
    a.send(b"one")
    a.send_many([b"two", b"three"])
    assert messages(b, 3) == messages(a, 3) == [b"one", b"two", b"three"]
    a.flush(timeout=30)
    assert a.members == b.members and a.coordinator == a.me and a.view.id == b.view.id
    assert "nothing waits" in a.explain() and a.waiting() == [] and a.status()["me"] == str(a.me)
    b.send(b"for A", to=[a.me])
    assert messages(a, 1) == [b"for A"]


def test_several_threads_may_send_and_read(pair: tuple[sync.Group, sync.Group]) -> None:
    a, b = pair
    found: list[bytes] = []
    senders = [threading.Thread(target=lambda: [a.send(b"%d" % n) for n in range(50)]) for _ in range(4)]
    readers = [threading.Thread(target=lambda: found.extend(messages(b, 50))) for _ in range(4)]
    own = threading.Thread(target=lambda: messages(a, 200))
    for thread in (*senders, *readers, own):
        thread.start()
    for thread in (*senders, *readers, own):
        thread.join()
    assert sorted(found) == sorted(b"%d" % number for number in [*range(50)] * 4)


@pytest.mark.parametrize("readers", [1, 3])
def test_a_barrier_waits_until_the_readers_in_other_threads_have_handled_what_they_read(
    pair: tuple[sync.Group, sync.Group], readers: int
) -> None:
    a, b = pair
    handled: list[bytes] = []
    may_go_on = threading.Event()

    def reading(group: sync.Group) -> None:
        for event in group:
            if isinstance(event, Message) and event.payload == b"end":
                return
            if isinstance(event, Message) and group is b:
                may_go_on.wait(30)
                handled.append(event.payload)

    threads = [threading.Thread(target=reading, args=[group]) for group in (a, *[b] * readers)]
    for thread in threads:
        thread.start()
    sent = []
    for number in range(100):
        may_go_on.clear()
        sent += [b"%d.%d" % (number, each) for each in range(3)]
        a.queue_many(sent[-3:]).wait()
        threading.Timer(0.001 * (number % 3), may_go_on.set).start()
        b.barrier()
        assert sorted(handled) == sorted(sent)
    for _ in range(readers):
        a.send(b"end")
        b.barrier()
    for thread in threads:
        thread.join(30)
        assert not thread.is_alive()


def test_waits_have_limits_and_errors_come_through(pair: tuple[sync.Group, sync.Group]) -> None:
    a, b = pair
    while True:
        try:
            b.receive(timeout=0.05)
        except WaitExpired as expired:
            assert "within 0.05 s" in str(expired)
            break
    with pytest.raises(UsageError, match="payload must be bytes"):
        a.send("text")  # type: ignore[arg-type]
    a.send(b"still works")
    assert messages(b, 1) == [b"still works"]


def test_a_batch_that_was_begun_by_message_can_be_finished_as_one(pair: tuple[sync.Group, sync.Group]) -> None:
    a, b = pair
    a.send_many([b"%d" % n for n in range(10)])
    first = messages(b, 1)
    rest: list[bytes] = []
    while len(rest) < 9:
        event = b.receive_batch(timeout=30)
        assert isinstance(event, ringcast.Batch)
        rest += event.payloads
    assert first + rest == [b"%d" % n for n in range(10)]


def test_iterating_ends_when_the_group_is_closed_elsewhere(pair: tuple[sync.Group, sync.Group]) -> None:
    a, b = pair
    seen: list[object] = []
    reader = threading.Thread(target=lambda: seen.extend(b))
    reader.start()
    a.send(b"x")
    b.close()
    reader.join()
    with pytest.raises(GroupClosed):
        b.send(b"y")
    assert all(isinstance(event, Message | ViewChange) for event in seen)
    b.leave()


def test_who_waits_when_the_thread_of_a_group_ends_is_told_that_it_was_closed() -> None:
    thread, waits, told = sync.LoopThread("ending"), threading.Event(), []

    async def never() -> None:
        waits.set()
        await asyncio.Event().wait()

    def wait() -> None:
        with pytest.raises(GroupClosed) as closed:
            thread.call(never)
        told.append(str(closed.value))

    waiter = threading.Thread(target=wait)
    waiter.start()
    waits.wait()
    thread.end()
    waiter.join()
    assert told == ["the group was closed"]


def test_the_one_order_and_the_state_have_their_plain_forms(pair: tuple[sync.Group, sync.Group]) -> None:
    a, b = pair
    reader = threading.Thread(target=lambda: messages(a, 1))
    reader.start()
    a.send(b"ordered", order=ringcast.TOTAL, timeout=30)
    assert messages(b, 1) == [b"ordered"]
    reader.join()
    loaded: list[bytes] = []
    with ExitStack() as stack:
        options = {"config": profile("test"), "inspect": False, "get_state": lambda: [b"one ", b"two"]}
        first = stack.enter_context(sync.join("s", name="A", **options))
        serving = threading.Thread(target=lambda: list(first))
        serving.start()
        second = sync.join("s", name="B", seeds=[first.me.endpoint], set_state=loaded.extend, **options)
        assert b"".join(loaded) == b"one two"
        second.leave()
        first.close()
        serving.join()


def test_an_interruption_before_the_hand_over_leaves_no_coroutine_behind(
    pair: tuple[sync.Group, sync.Group], monkeypatch: pytest.MonkeyPatch
) -> None:
    a, _ = pair

    def interrupted(*_: Any) -> None:
        raise SystemExit(143)

    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        with monkeypatch.context() as patch:
            patch.setattr(a._thread.loop, "call_soon_threadsafe", interrupted)
            for call in (a.receive, lambda: a.send(b"x"), a.flush, a.explain, a.stamp):
                with pytest.raises(SystemExit):
                    call()
        gc.collect()
    assert [str(each.message) for each in said] == []


class Interrupted(sync.Answer[Any]):
    """Its waiter is interrupted when the answer is already there, the last moment at which that can be."""

    def wait(self) -> Any:
        super().wait()
        raise KeyboardInterrupt


def test_an_interrupted_reader_loses_nothing(
    pair: tuple[sync.Group, sync.Group], monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b = pair
    a.send_many([b"%d" % n for n in range(20)])
    found: list[bytes] = []
    while len(found) < 20:
        with monkeypatch.context() as patch:
            patch.setattr(sync, "Answer", Interrupted)
            with pytest.raises(KeyboardInterrupt):
                b.receive_batch(timeout=30)
        event = b.receive_batch(timeout=30)
        if isinstance(event, ringcast.Batch):
            found += event.payloads
    assert found == [b"%d" % n for n in range(20)]


def test_an_interrupted_wait_is_given_up_on_the_loop_too(
    pair: tuple[sync.Group, sync.Group], monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b = pair

    class GivenUp(sync.Answer[Any]):
        def wait(self) -> Any:
            raise KeyboardInterrupt

    for event in iter(lambda: b.receive(timeout=30), None):
        if isinstance(event, ViewChange) and len(event.view.members) == 2:
            break
    with monkeypatch.context() as patch:
        patch.setattr(sync, "Answer", GivenUp)
        with pytest.raises(KeyboardInterrupt):
            b.receive()
    a.send(b"after it")
    assert messages(b, 1) == [b"after it"]


def interrupted_at(step: int, call: Callable[[], object]) -> bool:
    """Raise before this step of the call, of all that this thread does in Python for it; False if it has fewer."""
    steps = 0

    def trace(frame: FrameType, event: str, argument: object) -> Any:
        nonlocal steps
        if frame.f_code.co_filename.endswith("_weakrefset.py"):
            return None  # Called by the collector of garbage: what is raised there reaches nobody.
        frame.f_trace_opcodes = True
        steps += event == "opcode"
        if steps == step + 1 and event == "opcode":
            steps += 1
            raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(before)
    return False


def test_a_signal_between_any_two_steps_of_a_call_leaves_the_loop_as_it_was() -> None:
    """One that came while a Condition was entered left it locked, and the loop stood for good."""
    thread = sync.LoopThread("interrupted")

    async def answer() -> int:
        return 1

    step = 0
    while interrupted_at(step, lambda: thread.call(answer)):
        got: list[int] = []
        other = threading.Thread(target=lambda got=got: got.append(thread.call(answer)), daemon=True)  # type: ignore[misc]
        other.start()
        other.join(30)
        assert got == [1], f"the loop stands since step {step}"
        step += 1
    assert step > 50
    thread.end()


def test_a_signal_that_does_not_wake_the_main_thread_ends_its_wait_all_the_same() -> None:
    """It was taken by another thread, or by this one just before it slept: a process that was told to end did not."""
    thread, waits = sync.LoopThread("told to end"), threading.Event()

    async def never() -> None:
        waits.set()
        await asyncio.Event().wait()

    def tell(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    def kill() -> None:
        waits.wait()
        os.kill(os.getpid(), signal.SIGUSR1)

    former = signal.signal(signal.SIGUSR1, tell)
    other = threading.Thread(target=kill)
    other.start()
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})  # so another thread takes it
    try:
        with pytest.raises(KeyboardInterrupt):
            thread.call(never)
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGUSR1})
        signal.signal(signal.SIGUSR1, former)
        other.join()
        thread.end()


def test_work_that_cannot_even_begin_answers_with_its_error(pair: tuple[sync.Group, sync.Group]) -> None:
    def broken() -> Any:
        raise LookupError("before there was a coroutine")

    with pytest.raises(LookupError, match="before there was"):
        pair[0]._thread.call(broken)


def test_a_join_that_fails_ends_its_thread() -> None:
    before = threading.active_count()
    with pytest.raises(ringcast.TransportError):
        sync.join("g", bind="203.0.113.1:0", unencrypted=True, inspect=False)
    with pytest.raises(ringcast.ConfigError):
        sync.join("no spaces please")
    assert threading.active_count() == before


def test_a_thread_that_python_takes_for_dead_is_still_asked_and_ended() -> None:
    """A signal that raised inside `Thread.is_alive` leaves that mark behind, on CPython 3.11."""
    thread = sync.LoopThread("test")

    async def answer() -> int:
        return 1

    thread._thread._is_stopped = True  # type: ignore[attr-defined]
    assert thread.call(answer) == 1
    thread.end()
    with pytest.raises(GroupClosed):
        thread.call(answer)
    assert thread.loop.is_closed()


def test_a_forked_child_is_told_that_the_group_is_its_parents(pair: tuple[sync.Group, sync.Group]) -> None:
    """It waited for ever, without a word."""
    a, _ = pair
    told, tell = os.pipe()
    child = os.fork()
    if not child:
        sentences = []
        for call in (lambda: a.send(b"x"), a.receive, lambda: a.receive_many(2), a.receive_batch, a.explain, a.barrier):
            try:
                call()  # type: ignore[operator]
            except UsageError as error:
                sentences.append(str(error))
        os.write(tell, "\n".join(sentences).encode())
        os._exit(0)
    os.close(tell)
    with os.fdopen(told) as answers:
        sentences = answers.read().splitlines()
    os.waitpid(child, 0)
    assert sentences == ["group 'g' belongs to the parent of this process, which forked after it had joined"] * 6
    a.send(b"goes on")
