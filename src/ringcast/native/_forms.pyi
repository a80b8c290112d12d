"""The two simple forms without a Python frame for each message; as runtime/forms.py, but in C."""

from asyncio import AbstractEventLoop
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from typing import Any

from ringcast.model import Address, Delivery, Message, Notice

def know_message(message_type: type[Message], /) -> None: ...

class RunMessages(Iterator[Message]):
    def __init__(self, sender: Address, payloads: Iterator[bytes], delivery: Delivery, /) -> None: ...
    def __next__(self) -> Message: ...

class Hand:
    messages: Iterator[Message]

class Messages:
    def __init__(
        self,
        hand: Hand,
        next_event: Callable[[], Coroutine[Any, Any, Message | Notice]],
        end: Callable[[], Coroutine[Any, Any, None]],
        /,
    ) -> None: ...
    def __aiter__(self) -> Messages: ...
    def __anext__(self) -> Awaitable[Message | Notice]: ...
    def aclose(self) -> Coroutine[Any, Any, None]: ...

class Turn:
    outbox: list[bytes]
    slots: int
    room_bytes: int
    largest: int
    began: bool
    def __init__(self, loop: AbstractEventLoop, /) -> None: ...

class Accepting:
    def __init__(self, function: Callable[..., Coroutine[Any, Any, None]], /) -> None: ...
    def __call__(self, *args: Any, **names: Any) -> Awaitable[None]: ...
