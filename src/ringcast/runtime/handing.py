"""A reader that waits is given its turn inside the wake that brought its message, not one turn of the loop later.

A future would have the loop step the reader's task in its next turn: a handle, a look at every socket, a second pass.
Here the task is stepped as soon as the wake's frames are dealt with, by the callback that it left when it began to wait
(decision 0205). So the reader's answer leaves in the same turn of the loop, and what the wake still owes (the end of a
sending turn, the timer) is done once, behind it.
Invariants: a task is stepped only where none runs, once per wake, and never in the middle of a batch; what is scheduled
while it runs waits for the loop. A host that orders all steps itself (a simulation) leaves every step to its loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator
from contextvars import Context
from typing import Any, Protocol, cast

from ringcast.runtime import forms

Step = tuple[Callable[..., object], Context | None, "Waiter"]


StepSoon = Callable[[Step], None]
"""Where a woken waiter leaves its step."""


class Waiter(Protocol):
    """One wait of one task: what asyncio asks of a future, and no more. `wake` ends it."""

    is_over: bool

    def wake(self) -> None: ...

    def __await__(self) -> Generator[Any, None, None]: ...

    def get_loop(self) -> asyncio.AbstractEventLoop: ...


def waiter_type() -> Callable[[asyncio.AbstractEventLoop, StepSoon], Waiter]:
    """In C where that was built."""
    return PythonWaiter if forms.native is None else cast(type[Waiter], forms.native.Waiter)


class PythonWaiter:
    """`Waiter` without the native part."""

    __slots__ = ("_asyncio_future_blocking", "_callback", "_context", "_is_cancelled", "_loop", "_step_soon", "is_over")

    def __init__(self, loop: asyncio.AbstractEventLoop, step_soon: StepSoon) -> None:
        self._loop = loop
        self._step_soon = step_soon
        self._asyncio_future_blocking = False
        self._callback: Callable[..., object] | None = None
        self._context: Context | None = None
        self._is_cancelled = False
        self.is_over = False

    def wake(self) -> None:
        if not self.is_over:
            self.is_over = True
            if self._callback is not None:
                self._step_soon((self._callback, self._context, self))

    def __await__(self) -> Generator[Any, None, None]:
        if not self.is_over:
            self._asyncio_future_blocking = True
            yield self
        if not self.is_over:
            raise RuntimeError("a waiter was awaited by something that is no task")

    # ---- what a task asks

    def get_loop(self) -> asyncio.AbstractEventLoop:
        return self._loop

    def add_done_callback(self, callback: Callable[..., object], *, context: Context | None = None) -> None:
        self._callback, self._context = callback, context
        if self.is_over:
            self._loop.call_soon(callback, self, context=context)

    def cancel(self, msg: object = None) -> bool:
        if self.is_over:
            return False
        self.is_over = self._is_cancelled = True
        if self._callback is not None:
            self._loop.call_soon(self._callback, self, context=self._context)
        return True

    def result(self) -> None:
        if self._is_cancelled:
            raise asyncio.CancelledError


class Wake:
    """What a wake of the transport puts off to its end. Outside of one, everything is left to the loop."""

    __slots__ = ("_ends", "is_on", "is_taking", "steps")

    def __init__(self) -> None:
        self.is_on = False
        self.is_taking = False  # frames are dealt with
        self.steps: list[Step] = []  # of readers that these frames woke
        self._ends: list[Callable[[], None]] | None = None  # while those readers run

    def step_soon(self, step: Step) -> None:
        if self.is_taking:
            self.steps.append(step)
        else:
            callback, context, waiter = step
            waiter.get_loop().call_soon(callback, waiter, context=context)

    def at_end(self, callback: Callable[[], None]) -> None:
        """Behind what the readers of this wake do; outside of a wake, in the loop's next turn."""
        if self._ends is not None:
            self._ends.append(callback)
        else:
            asyncio.get_running_loop().call_soon(callback)

    def hand_over(self) -> None:
        """The frames are dealt with: the readers that they woke go on, then what was put off is done."""
        steps, self.steps = self.steps, []
        loop = steps[0][2].get_loop()
        if asyncio.current_task(loop) is not None:  # From inside a task no other can be stepped.
            for step in steps:
                self.step_soon(step)
            return
        ends: list[Callable[[], None]] = []
        self._ends = ends
        try:
            while steps:
                callback, context, waiter = steps.pop()
                if context is None:
                    callback(waiter)
                else:
                    context.run(callback, waiter)
        finally:  # What ends the process passes through; the loop may still be told to go on.
            self._ends = None
            for step in steps:
                self.step_soon(step)
            for end in ends:
                end()
