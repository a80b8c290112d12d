"""When a node wants to be woken: its machines write their timers here, and the driver reads which is first.

A machine takes a timer for each thing that it waits for, sets it and clears it, and looks at it in `on_time`. Each
component has a part of its own, and is called only if that is due. Nobody is asked after a fact: the first deadline is
known, and only if that one was put off or cleared are all looked at again.
Not an event loop: nothing is called from here.
"""

from __future__ import annotations


class Timer:
    """One thing that is waited for. `at_ns` is None while nothing is."""

    __slots__ = ("_deadlines", "first_ns")

    def __init__(self, deadlines: Deadlines) -> None:
        self._deadlines = deadlines
        self.first_ns: int | None = None

    @property
    def at_ns(self) -> int | None:
        return self.first_ns

    @at_ns.setter
    def at_ns(self, at_ns: int | None) -> None:
        before, self.first_ns = self.first_ns, at_ns
        if before != at_ns:
            self._deadlines.on_set(before, at_ns)

    def is_due(self, now_ns: int) -> bool:
        return self.first_ns is not None and now_ns >= self.first_ns


class Deadlines:
    """Timers, each made once, and parts. `first_ns` is when something is due; None: nothing is waited for."""

    def __init__(self, whole: Deadlines | None = None) -> None:
        self.first_ns: int | None = None
        self._whole = whole
        self._timers: list[Timer | Deadlines] = []

    def timer(self) -> Timer:
        timer = Timer(self)
        self._timers.append(timer)
        return timer

    def part(self) -> Deadlines:
        """Those of one component, which is asked for them apart."""
        part = Deadlines(self)
        self._timers.append(part)
        return part

    def is_due(self, now_ns: int) -> bool:
        return self.first_ns is not None and now_ns >= self.first_ns

    def on_set(self, before_ns: int | None, at_ns: int | None) -> None:
        was_ns = first_ns = self.first_ns
        if at_ns is not None and (first_ns is None or at_ns <= first_ns):
            first_ns = at_ns
        elif before_ns is not None and before_ns == first_ns:
            first_ns = self._earliest_ns()
        if first_ns != was_ns:
            self.first_ns = first_ns
            if self._whole is not None:
                self._whole.on_set(was_ns, first_ns)

    def _earliest_ns(self) -> int | None:
        first_ns = None
        for timer in self._timers:
            other_ns = timer.first_ns
            if other_ns is not None and (first_ns is None or other_ns < first_ns):
                first_ns = other_ns
        return first_ns

    def check(self) -> None:
        set_ns = [timer.first_ns for timer in self._timers if timer.first_ns is not None]
        assert self.first_ns == min(set_ns, default=None), (self.first_ns, set_ns)
        for part in self._timers:
            if type(part) is Deadlines:
                part.check()
