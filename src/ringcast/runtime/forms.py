"""The two simple forms, message by message: `await group.send(payload)` and `async for event in group`.

Where the native part was built, a message that needs no question costs no Python frame: it is put into the turn's
packet, or taken from the open run, by C (decision 0180). What is here does the same; RINGCAST_NATIVE=off chooses it.
Invariant of both: nothing happens before the call is awaited, so one that is cancelled before has done nothing (G15).
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import os
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from itertools import repeat
from types import ModuleType
from typing import Any, Protocol, TypeVar, cast

from ringcast.model import Address, Delivery, Message, Notice
from ringcast.window import Alike, lengths_of

ITEM_BYTES = 2  # a message's place in the length table of its packet; as in native/forms_sending.h

NextEvent = Callable[[], Coroutine[Any, Any, Message | Notice]]
F = TypeVar("F", bound=Callable[..., Coroutine[Any, Any, None]])


def _native() -> ModuleType | None:
    if os.environ.get("RINGCAST_NATIVE") == "off":
        return None
    try:
        from ringcast.native import _forms
    except ImportError:
        return None
    _forms.know_message(Message)
    return _forms


native = _native()


# ---- sending


class Turn:
    """What may be accepted in this turn of the loop without asking the node, and what was."""

    __slots__ = ("began", "largest", "on_begin", "on_full", "outbox", "room_bytes", "slots")
    on_begin: Callable[[], None]  # the first message of a turn was put
    on_full: Callable[[], None]  # the last that a turn may collect was put

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.outbox: list[bytes] = []
        self.slots = 0
        self.room_bytes = 0
        self.largest = 0  # of a message that needs no question
        self.began = False  # the first message of this turn has left


def make_turn() -> Turn:
    """Of the running loop."""
    loop = asyncio.get_running_loop()
    return Turn(loop) if native is None else cast(Turn, native.Turn(loop))


def accepting(send: F) -> F:
    """The method `send` of a class whose instances have a `_turn`; what fits into that needs no frame of `send`."""
    if native is None:
        return send
    method = functools.update_wrapper(native.Accepting(send), send)
    mark = getattr(inspect, "markcoroutinefunction", None)  # since Python 3.12
    if mark is not None:
        mark(method)
    elif (marker := getattr(asyncio.coroutines, "_is_coroutine", None)) is not None:
        vars(method)["_is_coroutine"] = marker
    return cast(F, method)


def measured(payloads: list[bytes]) -> tuple[Sequence[int], bool]:
    """(the length of each, whether all of them are plain bytes), in one pass where the native part was built."""
    found = None if native is None else native.lengths(payloads)
    if found is None:
        return lengths_of(payloads), set(map(type, payloads)) == {bytes}
    return (Alike(found, len(payloads)) if type(found) is int else found), True


def are_plain(payloads: list[bytes]) -> bool:
    """Whether all of them are plain bytes, where that is seen at a glance: False may also mean that nobody looked."""
    return native is not None and native.lengths(payloads) is not None


# ---- reading


class Hand:
    """Which messages may be given to whoever reads message by message without asking the reading place."""

    __slots__ = ("messages",)
    messages: Iterator[Message]


class Messages(Protocol):
    """Everything that is delivered, message by message. To leave it loses nothing; another one goes on there."""

    def __aiter__(self) -> Messages: ...

    def __anext__(self) -> Awaitable[Message | Notice]: ...

    def aclose(self) -> Coroutine[Any, Any, None]: ...


class PythonMessages:
    """`Messages` without the native part."""

    __slots__ = ("_end", "_hand", "_next_event")

    def __init__(self, hand: Hand, next_event: NextEvent, end: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self._hand = hand
        self._next_event = next_event
        self._end = end

    def __aiter__(self) -> PythonMessages:
        return self

    async def __anext__(self) -> Message | Notice:
        for message in self._hand.messages:
            return message
        return await self._next_event()

    async def aclose(self) -> None:
        await self._end()


def make_hand() -> Hand:
    return Hand() if native is None else cast(Hand, native.Hand())


def messages_in(hand: Hand, next_event: NextEvent, end: Callable[[], Coroutine[Any, Any, None]]) -> Messages:
    """The iterator over what this hand gives, and behind it `next_event`."""
    if type(hand) is Hand:
        return PythonMessages(hand, next_event, end)
    assert native is not None
    return cast(Messages, native.Messages(hand, next_event, end))


def messages_of(sender: Address, payloads: Iterator[bytes], delivery: Delivery) -> Iterator[Message]:
    """A run's messages; drawing one draws its payload."""
    if native is None:
        return map(Message, repeat(sender), payloads, repeat(delivery))
    return cast(Iterator[Message], native.RunMessages(sender, payloads, delivery))
