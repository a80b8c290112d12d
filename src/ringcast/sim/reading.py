"""How the application of a simulated process reads: at once, one delivery every so often, or not at all for a while.

What it has read goes back to the node (`on_taken`), which is how a slow consumer is felt by those who send.
"""

from __future__ import annotations

from collections.abc import Callable

from ringcast.core import Node, fate
from ringcast.model import Kind
from ringcast.sim.application import Application
from ringcast.sim.clock import Clock
from ringcast.sim.invariants import Checked, check_taken


class Reading:
    """The reader of one process, and when it looks again. `look` lets the application go on."""

    __slots__ = ("_application", "_clock", "_look", "_next_ns", "_node")

    def __init__(self, application: Application, node: Node, clock: Clock, look: Callable[[], None]) -> None:
        self._application = application
        self._node = node
        self._clock = clock
        self._look = look
        self._next_ns: int | None = None

    def set_pace(self, pause_ns: int | None) -> None:
        """0 = at once, None = not at all."""
        self._application.read_every_ns = pause_ns
        self._next_ns = None

    def next(self, now_ns: int) -> Checked | None:
        """Read one thing; None if there is nothing, or it is not the time."""
        app = self._application
        if not app.inbox or not self._may_read():
            return None
        delivery = app.read()
        if delivery is None:
            return Checked([], is_far=False)
        effects = self._node.on_taken(now_ns, delivery)
        is_far = check_taken(self._node, delivery, effects)
        return Checked([fate(Kind.HANDED, now_ns, delivery), *effects], is_far)

    def _may_read(self) -> bool:
        """Is it the time? If so, the next pause begins."""
        pause_ns = self._application.read_every_ns
        return pause_ns == 0 or (pause_ns is not None and self._is_time(pause_ns))

    def _is_time(self, pause_ns: int) -> bool:
        clock = self._clock
        if self._next_ns is None or clock.now_ns >= self._next_ns:
            self._next_ns = clock.now_ns + pause_ns
            clock.at(self._next_ns, self._look)
            return True
        return False
