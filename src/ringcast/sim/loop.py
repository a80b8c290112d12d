"""An asyncio event loop on a simulated clock: `asyncio.sleep`, timeouts, tasks and futures, all in virtual time.

Each simulated process has a loop of its own on the clock of its world, so that one process can be frozen (its callbacks
wait) or crash (they never come) while the others go on. Callbacks of one moment run in the order in which they were
planned, so a run depends on nothing but what was planned.
There are no sockets, signals and subprocesses here, and no threads: what is given to one runs at once, in its place.
"""

from __future__ import annotations

import asyncio
from asyncio import _get_running_loop, _set_running_loop
from collections import deque
from collections.abc import Callable, Coroutine, Generator
from contextvars import Context, copy_context
from inspect import CORO_CREATED, getcoroutinestate, iscoroutine
from typing import Any, TypeVar, TypeVarTuple

from ringcast.sim.clock import Clock, LocalClock

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

Complain = Callable[[dict[str, Any]], None]


class _Handle(asyncio.TimerHandle):
    """Made without the questions that asyncio's own asks of its loop; there are two for each frame."""

    __slots__ = ()

    def __init__(
        self,
        when: float,
        callback: Callable[..., object],
        args: tuple[Any, ...],
        loop: asyncio.AbstractEventLoop,
        context: Context | None,
    ) -> None:
        self._when, self._callback, self._args, self._loop = when, callback, args, loop
        self._context = copy_context() if context is None else context
        self._cancelled = self._scheduled = False
        self._repr = self._source_traceback = None

    def cancel(self) -> None:
        """Nobody debugs this loop, and it does not count its cancelled timers."""
        self._cancelled = True
        self._callback, self._args = _nothing, ()  # what they hold is let go


class VirtualLoop(asyncio.AbstractEventLoop):
    """`complain` hears what nobody catches: the contexts that asyncio gives to an exception handler."""

    def __init__(self, clock: Clock, complain: Complain) -> None:
        self.local = LocalClock()
        self._clock = clock
        self._complain = complain
        self._held: deque[tuple[Callable[..., None], Any]] = deque()  # due while frozen: how it runs, and what
        self._tasks: dict[asyncio.Task[Any], None] = {}
        self._unbegun: list[tuple[asyncio.Task[Any], asyncio.Handle]] = []  # the first steps that death came before
        self._is_frozen = False
        self._is_dead = False
        self._outer: asyncio.AbstractEventLoop | None = None  # the running loop, outside a world that lets time pass

    # ---- time

    def now_ns(self) -> int:
        """What the clock of this process shows."""
        now_ns = self._clock.now_ns
        return now_ns if self.local.is_true else self.local.local(now_ns)

    def time(self) -> float:
        return self.now_ns() / 1e9

    def set_rate(self, parts_per_million: int) -> None:
        """The clock of this process goes wrong from now on, and what was planned by it with it."""
        self.local.set_rate(self._clock.now_ns, parts_per_million)
        self._clock.replan(self._run, self._due_ns)

    def _due_ns(self, handle: asyncio.TimerHandle) -> int:
        return self.local.when(round(handle.when() * 1e9))

    def call_soon(
        self, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.Handle:
        handle = _Handle(0.0, callback, args, self, context)
        self._clock.soon(self._run, handle)
        return handle

    def call_soon_threadsafe(
        self, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.Handle:
        return self.call_soon(callback, *args, context=context)

    def call_later(
        self, delay: float, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.TimerHandle:
        clock, local = self._clock, self.local
        when_ns = (clock.now_ns if local.is_true else self.now_ns()) + round(delay * 1e9)
        handle = _Handle(when_ns / 1e9, callback, args, self, context)
        clock.at(when_ns if local.is_true else local.when(when_ns), self._run, handle)
        return handle

    def call_at(
        self, when: float, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.TimerHandle:
        when_ns = round(when * 1e9)
        handle = _Handle(when_ns / 1e9, callback, args, self, context)
        self._clock.at(when_ns if self.local.is_true else self.local.when(when_ns), self._run, handle)
        return handle

    def _run(self, handle: _Handle) -> None:
        if handle._cancelled:  # It stayed planned, and is nothing now that it comes.
            return
        if self._is_dead:
            self._keep_unbegun(handle)
            return
        if self._is_frozen:
            self._held.append((self._run, handle))
            return
        clock = self._clock
        if clock.running is not self:
            self._enter()
        try:  # as `Handle._run`, without the call
            handle._context.run(handle._callback, *handle._args)
        except (SystemExit, KeyboardInterrupt):
            raise
        except BaseException as error:
            self._complain({"message": f"Exception in callback {handle!r}", "exception": error, "handle": handle})
        finally:
            if not clock.is_passing:
                _set_running_loop(self._outer)

    def _enter(self) -> None:
        """Be the running loop. A world leaves it so until another runs: to ask and to change that is a system call."""
        if self._clock.is_passing:
            self._clock.running = self
        else:
            self._outer = _get_running_loop()
        _set_running_loop(self)

    def woken(self, callback: Callable[[], None]) -> None:
        """A callback of the socket of this process, planned on the clock: never cancelled, and without a context."""
        if self._is_dead:
            return
        if self._is_frozen:
            self._held.append((self.woken, callback))
            return
        clock = self._clock
        if clock.running is not self:
            if clock.is_passing:  # as in `_enter`, without the call: nearly every frame comes to another process
                clock.running = self
                _set_running_loop(self)
            else:
                self._enter()
        try:
            callback()
        except Exception as error:
            self._complain({"message": "what arrived could not be dealt with", "exception": error})
        finally:
            if not clock.is_passing:
                _set_running_loop(self._outer)

    # ---- the process around it

    def freeze(self) -> None:
        self._is_frozen = True

    def thaw(self) -> None:
        """What was due meanwhile happens now, in its order."""
        self._is_frozen = False
        held, self._held = self._held, deque()
        for run, what in held:
            self._clock.soon(run, what)

    def die(self) -> None:
        """Nothing happens here any more: no callback, no `finally`."""
        self._is_dead = True

    def _keep_unbegun(self, handle: asyncio.Handle) -> None:
        """The first step of a task whose process died before it, or in the middle of the callback that made it."""
        task = getattr(handle._callback, "__self__", None)  # type: ignore[attr-defined]
        if isinstance(task, asyncio.Task) and _is_unbegun(task.get_coro()):
            self._unbegun.append((task, handle))

    def bury(self) -> None:
        """The world is over: let what is left of a dead process end, so that nothing is reported as forgotten."""
        self._is_dead = False
        self.thaw()
        unbegun, self._unbegun = self._unbegun, []
        for task, handle in unbegun:
            task.cancel()  # Its first step then only ends it: nothing of it runs.
            self._clock.soon(self._run, handle)

    def unfinished(self) -> list[asyncio.Task[Any]]:
        return [task for task in self._tasks if not task.done()]

    # ---- tasks and futures

    def create_future(self) -> asyncio.Future[Any]:
        return asyncio.Future(loop=self)

    def create_task(
        self,
        coro: Generator[Any, None, T] | Coroutine[Any, Any, T],
        *,
        name: str | None = None,
        context: Context | None = None,
    ) -> asyncio.Task[T]:
        task: asyncio.Task[T] = asyncio.Task(coro, loop=self, name=name, context=context)
        self._tasks[task] = None
        task.add_done_callback(self._forget)
        return task

    def _forget(self, task: asyncio.Task[Any]) -> None:
        self._tasks.pop(task, None)

    def run_in_executor(self, executor: Any, func: Callable[[*Ts], T], *args: *Ts) -> asyncio.Future[T]:
        """Threads would make a run depend on the machine: the call is made here and now, and takes no time."""
        future: asyncio.Future[T] = self.create_future()
        try:
            future.set_result(func(*args))
        except Exception as error:
            future.set_exception(error)
        return future

    # ---- what asyncio asks of a loop

    def get_debug(self) -> bool:
        return False

    def is_running(self) -> bool:
        return not self._is_dead

    def is_closed(self) -> bool:
        return False

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        self._complain(context)

    async def shutdown_asyncgens(self) -> None:
        """The world ends them with the tasks that hold them."""

    async def shutdown_default_executor(self, timeout: float | None = None) -> None:
        """There is none."""


def _nothing() -> None:
    """What a cancelled callback does."""


def _is_unbegun(coro: object) -> bool:
    return iscoroutine(coro) and getcoroutinestate(coro) == CORO_CREATED
