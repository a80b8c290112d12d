"""Frames of a simulated network, taken by what they are: dropped, held, delayed, copied or put out of order.

A rule holds from when it is made until `end`, until it has caught so many frames, or until its world heals. The oldest
rule that fits a frame has it; what a rule lets go is subject to the path as it is then, and to no other rule.
A frame is named by what it says: data, stream, control, state (runs of these channels), ack, request, highest, …, and
by the type of each control message in it (heartbeat, newview, …).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from random import Random
from types import TracebackType
from typing import get_args

from ringcast.core import DECLARED, Channel, Drop, Packet, Run
from ringcast.errors import UsageError
from ringcast.sim.clock import Clock
from ringcast.sim.network import RUN_KINDS, Network, kind_of
from ringcast.wire import decode_control

ANY = "*"
MOST_HELD = 65_536  # frames; what comes beyond is lost, as in any queue

_PACKETS = [kind.__name__.lower() for kind in get_args(Packet) if kind.__name__ not in ("Run", "Loose")]
FRAME_KINDS = (*RUN_KINDS.values(), *_PACKETS, *sorted(kind.__name__.lower() for kind in DECLARED))

Names = str | Sequence[str]
Release = Callable[[str, str, bytes], None]
Act = Callable[["FrameRule", str, str, bytes], None]


def words_of(packet: Packet) -> tuple[str, ...]:
    """Every word that names this packet."""
    if not isinstance(packet, Run) or packet.channel is not Channel.CONTROL:
        return (kind_of(packet),)
    said = map(decode_control, packet.items)
    return (kind_of(packet), *(type(message).__name__.lower() for message in said if not isinstance(message, Drop)))


class FrameRule:
    """What happens to some frames. `caught` counts them; as a context manager it ends with its block."""

    def __init__(
        self,
        network: Network,
        act: Act,
        kind: str,
        sender: Names,
        to: Names,
        times: int | None = None,
        seqno: int | None = None,
    ) -> None:
        """`seqno`: only runs with this message in them."""
        if kind != ANY and kind not in FRAME_KINDS:
            raise UsageError(f"no frame is called {kind!r}; known are {', '.join(FRAME_KINDS)}, and {ANY!r} for any")
        if times is not None and times < 1:
            raise UsageError(f"a rule for {times} frames would catch none")
        self.caught = 0
        self.held: deque[tuple[str, str, bytes]] = deque()
        self.is_over = False
        self._network, self._act, self._kind, self._times, self._seqno = network, act, kind, times, seqno
        self._senders, self._to = _names(sender), _names(to)
        network.rules.append(self)

    def takes(self, sender: str, to: str, frame: bytes, packet: Packet) -> bool:
        """Is this one of the frames? Then it is dealt with."""
        if (self._senders and sender not in self._senders) or (self._to and to not in self._to):
            return False
        if self._kind not in (ANY, *words_of(packet)) or not self._has_seqno(packet):
            return False
        self.caught += 1
        self._act(self, sender, to, frame)
        if self.caught == self._times and not self.held:
            self.end()
        return True

    def _has_seqno(self, packet: Packet) -> bool:
        if self._seqno is None:
            return True
        return type(packet) is Run and packet.first <= self._seqno < packet.first + len(packet.items)

    @property
    def is_full(self) -> bool:
        """It has caught as many as it may, and only holds them."""
        return self._times is not None and self.caught >= self._times

    def end(self) -> None:
        """From now on nothing is caught; what is held goes on its way, in its order."""
        if self.is_over:
            return
        self.is_over = True
        self._network.rules.remove(self)
        while self.held:
            self._network.release(*self.held.popleft())

    def __enter__(self) -> FrameRule:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.end()


def drop(rule: FrameRule, sender: str, to: str, frame: bytes) -> None:
    rule._network.lost += 1


def hold(rule: FrameRule, sender: str, to: str, frame: bytes) -> None:
    if len(rule.held) < MOST_HELD:
        rule.held.append((sender, to, frame))
    else:
        rule._network.lost += 1


def delay(clock: Clock, by_ns: int) -> Act:
    return lambda rule, *frame: clock.after(by_ns, rule._network.release, *frame)


def copy(copies: int) -> Act:
    def act(rule: FrameRule, sender: str, to: str, frame: bytes) -> None:
        for _ in range(1 + copies):
            rule._network.release(sender, to, frame)

    return act


def reorder(clock: Clock, within_ns: int, random: Random) -> Act:
    """Each is late by a part of that time, drawn from the seed, so that later ones overtake it."""
    return lambda rule, *frame: clock.after(int(random.random() * within_ns), rule._network.release, *frame)


def _names(names: Names) -> tuple[str, ...]:
    """Nobody named: everybody is meant."""
    if names == ANY:
        return ()
    return (names,) if isinstance(names, str) else tuple(names)
