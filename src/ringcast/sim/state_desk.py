"""The desk of a simulated process where its application's state is got at the start and given to later joiners.

It does what the desk of a real group does (runtime/state.py), on virtual time: until the state is there the application
reads nothing else; where it comes to an order to provide, its state is cut; parts go out as far as there is room, and
come in at the reader's pace. What went on is noted for the verdict (succession.py).
Not the way of the parts: that is StateGiving and StateLoading.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from random import Random
from typing import Protocol

from ringcast.core import (
    IN_THE_STATE,
    AwaitState,
    Channel,
    Deliver,
    Effect,
    Install,
    Node,
    ProvideState,
    StateOver,
    fate,
)
from ringcast.model import SECOND, Kind
from ringcast.sim.application import Application
from ringcast.sim.clock import Clock
from ringcast.sim.invariants import Checked
from ringcast.sim.state_giving import StateGiving
from ringcast.sim.state_load import StateLoad
from ringcast.sim.state_loading import StateLoading
from ringcast.sim.succession import Succession
from ringcast.sim.tally import Tally
from ringcast.sim.waits import Waits

LIMIT_NS = 60 * SECOND
_WAIT = "state"


class Owner(Protocol):
    """The process whose desk this is."""

    node: Node
    application: Application
    waits: Waits

    def look(self) -> None: ...


class StateDesk:
    """`on_failed` is called when the process will never have the state, and should go."""

    def __init__(
        self,
        owner: Owner,
        clock: Clock,
        load: StateLoad,
        random: Random,
        succession: Succession,
        on_failed: Callable[[], None],
    ) -> None:
        self.loading = StateLoading()
        self.orders: dict[type, Callable[..., None]] = {
            ProvideState: owner.application.inbox.append,  # At its place in the application's order.
            AwaitState: self._await,
            StateOver: self._over,
            Deliver: self._deliver,
        }
        self.node = owner.node
        self._owner = owner
        self._inbox = owner.application.inbox
        self._clock = clock
        self._load = load
        self._random = random
        self._succession = succession
        self._on_failed = on_failed
        self._giving = StateGiving(owner.node)
        self._void: deque[Deliver] = deque()  # what the application will never read
        self._patience_ns = 2 * owner.node.config.state_patience_ns
        owner.application.on_event = self._read
        self._said: list[Effect] = []

    @property
    def tally(self) -> Tally | None:
        """The state, once there is one."""
        return self.loading.tally

    @property
    def is_idle(self) -> bool:
        return self.loading.is_over and self._giving.is_idle and not self._void

    # ---- what the core says

    def _deliver(self, delivery: Deliver) -> None:
        if delivery.channel is Channel.STATE:
            self.loading.on_part(delivery)
        else:
            self._inbox.append(delivery)

    def _await(self, order: AwaitState) -> None:
        """What was delivered before this cut is void; views stay to be read."""
        if self.loading.is_over:
            return
        self._void += self.loading.on_await(self._clock.now_ns, order)
        kept = [self._inbox.popleft() for _ in range(len(self._inbox))]
        self._void += [item for item in kept if isinstance(item, Deliver)]
        self._inbox += [item for item in kept if isinstance(item, Install)]
        if _WAIT not in self._owner.waits:
            self._said.append(self._owner.waits.start(self._clock.now_ns, _WAIT, self._clock.now_ns + LIMIT_NS))
        self._clock.after(self._patience_ns, self._owner.look)

    def _over(self, over: StateOver) -> None:
        if over.joiner != self.node.me:
            self._giving.end(over.joiner)
        elif not self.loading.is_over:
            self.loading.on_over(over)
            self._note_end()

    def unread(self) -> list[Deliver]:
        """What was voided and not counted yet."""
        return list(self._void)

    # ---- what there is to do besides reading events

    def next(self, now_ns: int) -> Checked | None:
        """One thing that needs no reader; None if there is nothing."""
        effects = self._next(now_ns)
        if effects is None:
            return None
        self.node.check()
        return Checked(effects, is_far=True)

    def _next(self, now_ns: int) -> list[Effect] | None:
        if self._said:
            said, self._said = self._said, []
            return said
        if self._void:
            void = self._void.popleft()
            return [fate(Kind.UNREAD, now_ns, void, IN_THE_STATE), *self.node.on_taken(now_ns, void)]
        if self.loading.is_complete:
            return self._finish(now_ns)
        if self._is_given_up():
            return self._refuse(now_ns, f"no part of it came for {self._patience_ns / SECOND:g} s")
        return self._giving.next(now_ns)

    def _finish(self, now_ns: int) -> list[Effect]:
        """The application holds the state, and the others learn of it."""
        self.loading.finish()
        if self.loading.error is not None:
            self._succession.note_damage(self.node.me, self.loading.error)
        self._note_end()
        return self.node.on_state_loaded(now_ns, self.loading.error)

    def _is_given_up(self) -> bool:
        since_ns = self.loading.since_ns
        return self.loading.is_silent and since_ns is not None and self._clock.now_ns >= since_ns + self._patience_ns

    def _refuse(self, now_ns: int, why: str) -> list[Effect]:
        self._succession.note_silence(self.node.me, self.loading.since_ns or 0)
        self.loading.fail(why)
        self._note_end()
        return self.node.on_state_loaded(now_ns, why)

    def _note_end(self) -> None:
        """The wait for the state is over, if it is: with a state, or without."""
        loading, me = self.loading, self.node.me
        if loading.tally is not None:
            self._succession.note_state(me, loading.cut, loading.tally.digest, loading.replaced, self._clock.now_ns)
        elif loading.error is not None:
            self._succession.note_refusal(me, loading.error, self.node.view, self._clock.now_ns)
            self._on_failed()
        if loading.is_over:
            self._said += self._owner.waits.end(self._clock.now_ns, _WAIT, "done" if loading.tally else "failed")

    # ---- the reader

    @property
    def has_part(self) -> bool:
        """A part of the state is what the application reads next."""
        return bool(self.loading.arrived) and not self.loading.is_over

    def take_part(self, now_ns: int) -> Checked:
        delivery = self.loading.take(self._clock.now_ns)
        self._clock.after(self._patience_ns, self._owner.look)
        effects = self.node.on_taken(now_ns, delivery)
        self.node.check()
        return Checked(effects, is_far=True)

    def provide(self, order: ProvideState) -> None:
        """The application has come to this order."""
        assert self.tally is not None
        fails = self._clock.now_ns < self._load.until_ns and self._random.random() < self._load.failing_share
        self._giving.cut(order, self.tally, self._load.padding, fails=fails)

    def _read(self, event: Deliver | Install) -> None:
        """The application reads this."""
        assert self.tally is not None
        if isinstance(event, Install):
            self._succession.note_view(self.node.me, event.view, self.tally.digest)
        else:
            self.tally.read(event)
