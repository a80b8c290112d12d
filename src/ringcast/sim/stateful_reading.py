"""How an application reads that joined with state: first the state, then the events, and it stops where one is wanted.

Parts of the state are read at the pace of everything else. An order to provide stands in the inbox behind its view.
"""

from __future__ import annotations

from collections.abc import Callable

from ringcast.core import ProvideState
from ringcast.sim.application import Application
from ringcast.sim.clock import Clock
from ringcast.sim.invariants import Checked
from ringcast.sim.reading import Reading
from ringcast.sim.state_desk import StateDesk


class StatefulReading(Reading):
    """A reader that has to do with a desk."""

    __slots__ = ("_desk",)

    def __init__(self, application: Application, desk: StateDesk, clock: Clock, look: Callable[[], None]) -> None:
        super().__init__(application, desk.node, clock, look)
        self._desk = desk

    def next(self, now_ns: int) -> Checked | None:
        desk = self._desk
        self._provide()
        done = desk.next(now_ns)
        if done is not None:
            return done
        if desk.tally is None:
            return desk.take_part(now_ns) if desk.has_part and self._may_read() else None
        return super().next(now_ns)

    def _provide(self) -> None:
        """An application that has no state yet, or stands still, does not come to an order."""
        app = self._application
        while self._desk.tally is not None and app.read_every_ns is not None and app.inbox:
            order = app.inbox[0]
            if not isinstance(order, ProvideState):
                return
            app.inbox.popleft()
            self._desk.provide(order)
