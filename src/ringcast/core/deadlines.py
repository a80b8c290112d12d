"""When a node wants to be woken: its machines write their timers here, and the driver reads which is first.

A machine takes a timer for each thing that it waits for, sets it and clears it, and looks at it in `on_time`. Nobody is
asked after a fact: the first deadline is known, and only if that one was put off or cleared are all looked at again.
Not an event loop: nothing is called from here.
"""

from __future__ import annotations


class Timer:
    """One thing that is waited for. `at_ns` is None while nothing is."""

    __slots__ = ("_at_ns", "_deadlines")

    def __init__(self, deadlines: Deadlines) -> None:
        self._deadlines = deadlines
        self._at_ns: int | None = None

    @property
    def at_ns(self) -> int | None:
        return self._at_ns

    @at_ns.setter
    def at_ns(self, at_ns: int | None) -> None:
        before, self._at_ns = self._at_ns, at_ns
        self._deadlines.on_set(before, at_ns)

    def is_due(self, now_ns: int) -> bool:
        return self._at_ns is not None and now_ns >= self._at_ns


class Deadlines:
    """The timers of one node, each made once. `first_ns` is when something is due; None: nothing is waited for."""

    def __init__(self) -> None:
        self.first_ns: int | None = None
        self._timers: list[Timer] = []

    def timer(self) -> Timer:
        timer = Timer(self)
        self._timers.append(timer)
        return timer

    def on_set(self, before_ns: int | None, at_ns: int | None) -> None:
        if at_ns is not None and (self.first_ns is None or at_ns <= self.first_ns):
            self.first_ns = at_ns
        elif before_ns is not None and before_ns == self.first_ns:
            self.first_ns = self._earliest_ns()

    def _earliest_ns(self) -> int | None:
        first_ns: int | None = None
        for timer in self._timers:
            at_ns = timer._at_ns
            if at_ns is not None and (first_ns is None or at_ns < first_ns):
                first_ns = at_ns
        return first_ns

    def check(self) -> None:
        assert self.first_ns == self._earliest_ns(), (self.first_ns, self._earliest_ns())
