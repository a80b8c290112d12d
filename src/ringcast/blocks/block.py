"""What every block has in common: its name on a shared group, the way out, and what the group tells it.

A block is given the messages under its name, and every view, in the group's order; it never waits there, so that one
block cannot stop another. Whoever waits for something of its own is told when the place is lost or the group ends.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable, Mapping
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

import msgspec

from ringcast import Address, Batch, Group, Notice, Order, Receipt, RingcastError, StateError, UsageError, View

MAX_NAME = 64  # bytes of a channel's name
UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)  # what bytes of others may raise when decoded
UNSENDABLE = (TypeError, OverflowError, UnicodeEncodeError, RecursionError)  # what values may raise when encoded

Sides = Mapping[tuple[Address, ...], bytes]  # the members of each side -> its state
To = Address | Iterable[Address] | None


def prefix_of(name: str) -> bytes:
    """What stands before every payload of this channel."""
    raw = name.encode()
    return bytes([len(raw)]) + raw


def words_of(kind: object) -> str:
    """A type as members compare it: by the names of its classes, wherever they were defined."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin is None:
        return getattr(kind, "__name__", None) or repr(kind)
    if origin is Annotated:
        return words_of(inner[0])
    if origin in (Union, UnionType):
        return " | ".join(sorted(map(words_of, inner)))
    return f"{words_of(origin)}[{', '.join(map(words_of, inner))}]"


class Gate:
    """Closed from the loss of the place until a view behind the new state was read.

    What a new incarnation sends meanwhile may lie before the cut of its state, for the provider may change: then it is
    in the state and never comes back to its sender. So whoever waits for its own message waits here first.
    """

    def __init__(self) -> None:
        self.is_open = True
        self._waiting: list[asyncio.Future[None]] = []

    def close(self) -> None:
        self.is_open = False

    def open(self) -> None:
        self.is_open = True
        waiting, self._waiting = self._waiting, []
        for future in waiting:
            if not future.done():
                future.set_result(None)

    async def until_open(self) -> None:
        while not self.is_open:
            self._waiting.append(future := asyncio.get_running_loop().create_future())
            await future


class Port:
    """The way out: what a block sends goes to the group under the block's name."""

    def __init__(self, group: Group, name: str, gate: Gate) -> None:
        self.group = group
        self.gate = gate
        self._prefix = prefix_of(name)

    def send(
        self, body: bytes, *, to: To = None, order: Order = Order.FIFO, timeout: float | None = None
    ) -> Coroutine[Any, Any, None]:
        return self.group.send(self._prefix + body, to=to, order=order, timeout=timeout)

    def send_many(self, bodies: Iterable[bytes], *, timeout: float | None = None) -> Coroutine[Any, Any, None]:
        return self.group.send_many([self._prefix + body for body in bodies], timeout=timeout)

    def queue(self, body: bytes, *, to: To = None, timeout: float | None = None) -> Coroutine[Any, Any, Receipt]:
        return self.group.queue(self._prefix + body, to=to, timeout=timeout)

    def is_me(self, sender: Address) -> bool:
        """This process sent it, as this incarnation or as the one whose place it lost."""
        me = self.group.me
        return sender == me or (sender.name == me.name and sender.endpoint == me.endpoint)


class Block:
    """One user of a shared group. `kind` says what all members must have alike; None: it has no state."""

    kind: str | None = None

    def __init__(self, name: str) -> None:
        if not name or len(name.encode()) > MAX_NAME or not name.isprintable():
            raise UsageError(f"the name of a channel must be printable, with 1 to {MAX_NAME} bytes, got {name!r}")
        self.name = name
        self._opened: Port | None = None
        self._room: asyncio.Future[None] | None = None  # whoever hands out waits for room here
        self._ended: RingcastError | None = None
        self._why_apart: str | None = None  # the sides of a merge keep states of their own, for this reason

    @property
    def _port(self) -> Port:
        if self._ended is not None:
            raise self._ended.copy()
        if self._opened is None:
            raise UsageError(f"{self.name!r} is on no group yet: give it to ringcast.blocks.join")
        return self._opened

    def _open(self, port: Port) -> None:
        if self._opened is not None:
            raise UsageError(f"{self.name!r} was on a group before: make a new one for another")
        self._opened = port

    # ---- what the group tells it

    def _on_batch(self, batch: Batch) -> None:
        """Messages under this name; payloads without the name."""
        raise NotImplementedError

    def _on_view(self, view: View) -> None:
        """A view. One may come again, or late, behind the state of a later one."""

    def _on_notice(self, notice: Notice) -> None:
        """The same, and everything else that stands between messages."""

    def _on_begun(self, member: Address, view: int) -> None:
        """This member has its state, which was cut at the view of this number: what was sent before never reached
        it."""

    def _fail(self, error: RingcastError) -> None:
        """Whoever waits for what was sent waits in vain: the place is lost, or this side may not go on."""

    def _end(self, error: RingcastError) -> None:
        self._ended = error
        self._fail(error)

    # ---- flow control: only a block with readers of its own may hold the group

    @property
    def _unread(self) -> int:
        return 0

    @property
    def _is_full(self) -> bool:
        return False

    async def _until_room(self) -> None:
        """Return as soon as a block that was full has told that there is room."""
        self._room = asyncio.get_running_loop().create_future()
        try:
            await self._room
        finally:
            self._room = None

    def _tell_room(self) -> None:
        """Something was taken out."""
        if self._room is not None and not self._room.done() and not self._is_full:
            self._room.set_result(None)

    # ---- state

    async def _cut(self) -> bytes:
        """The state, where the group stands."""
        raise NotImplementedError

    async def _load(self, state: bytes) -> None:
        raise NotImplementedError

    def _on_loaded(self, view: int) -> None:
        """All blocks have loaded a state, cut at the view with this number."""

    def _merge(self, sides: Sides) -> bytes:
        """One state of those of all sides, at one member; to raise means that they stay apart."""
        raise NotImplementedError

    def _part(self, why: str) -> None:
        """The sides of a merge keep states of their own."""
        self._why_apart = why


class Pending:
    """Those who wait until what they sent has come back in the one order.

    What was sent in a view before that of a state which is loaded is part of it: it does not come back.
    """

    def __init__(self) -> None:
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._receipts: dict[int, Receipt] = {}
        self.last = 0  # the number given last
        self._loaded = 0  # the number of the view that the last state was cut at

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self) -> tuple[int, asyncio.Future[Any]]:
        self.last += 1
        future = self._waiting[self.last] = asyncio.get_running_loop().create_future()
        return self.last, future

    def drop(self, number: int) -> None:
        self._waiting.pop(number, None)
        self._receipts.pop(number, None)

    def on_sent(self, number: int, receipt: Receipt) -> None:
        self._receipts[number] = receipt
        self._fail_if_loaded(number)

    def on_loaded(self, view: int) -> None:
        self._loaded = view
        for number in self._receipts:
            self._fail_if_loaded(number)

    def _fail_if_loaded(self, number: int) -> None:
        view, future = self._receipts[number].view, self._waiting[number]
        if view is not None and view.number < self._loaded and not future.done():
            error = StateError(f"a state of view {self._loaded} took the place of what was sent in view {view}")
            _raise_at(future, error.unknown("whether this was done cannot be known"))

    def settle(self, number: int, result: object) -> None:
        """It is done; an exception as the result is raised by whoever waits."""
        future = self._waiting.get(number)
        if future is not None and not future.done():
            if isinstance(result, Exception):
                _raise_at(future, result)
            else:
                future.set_result(result)

    def settle_up_to(self, last: int) -> None:
        """What one sender sent in its order: with this one, those before it are done."""
        for number in self._waiting:
            if number <= last:
                self.settle(number, None)

    def fail(self, error: RingcastError) -> None:
        for future in self._waiting.values():
            if not future.done():
                _raise_at(future, error.unknown("whether this was done cannot be known"))


def _raise_at(waiting: asyncio.Future[Any], error: Exception) -> None:
    """Whoever waits hears of it; if it was told otherwise already, this is no error of the loop."""
    waiting.set_exception(error)
    waiting.exception()
