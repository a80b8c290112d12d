"""A named stream of its own on a shared group: send, read, views, one order, and state under its name.

What is delivered waits here until the application reads it, at most `unread` messages: beyond that the whole group is
held back at this member, as by any slow reader, and `explain()` names the channel. With state, the application has read
everything before the cut when its `get_state` is called, and nothing behind it. Views that nobody reads are bounded
too: of as many as `unread` that wait, the newest takes the place of the one before it.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator

from ringcast import (
    Batch,
    GroupEvent,
    Message,
    Notice,
    Order,
    Receipt,
    RingcastError,
    StatesApart,
    UsageError,
    View,
    ViewChange,
    WaitExpired,
)
from ringcast.blocks.block import Block, Sides, To
from ringcast.blocks.errors import Apart

UNREAD = 1024  # messages that wait for this channel's reader before it holds the group

GetState = Callable[[], bytes]
SetState = Callable[[bytes], None]
MergeState = Callable[[Sides], bytes]


class _Stop:
    """Something to be done where the reader stands."""

    def __init__(self, act: Callable[[], bytes]) -> None:
        self.act = act
        self.done: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()


class Channel(Block):
    """One layer's part of a group. Made by `group.channel(name)`; with state it is made first and given to `join`."""

    def __init__(
        self,
        name: str,
        *,
        get_state: GetState | None = None,
        set_state: SetState | None = None,
        merge_state: MergeState | None = None,
        unread: int = UNREAD,
    ) -> None:
        """`get_state` and `set_state` go together. Without `merge_state` the sides of a merge keep states of their own;
        with `partition="primary"` there is nothing to merge. `unread`: how many messages may wait for the reader."""
        super().__init__(name)
        if (get_state is None) != (set_state is None) or (merge_state is not None and get_state is None):
            raise UsageError(f"channel {name!r} needs get_state and set_state together, and both beside merge_state")
        if unread < 1:
            raise UsageError(f"channel {name!r} must be allowed at least 1 unread message, got {unread}")
        self.kind = None if get_state is None else "channel"
        self._hooks = (get_state, set_state, merge_state)
        self._most = unread
        self._waiting: deque[Batch | Notice | _Stop] = deque()
        self._messages: Iterator[Message] = iter(())
        self._count = 0
        self._reader: asyncio.Future[None] | None = None

    # ---- sending

    async def send(
        self, payload: bytes, *, to: To = None, order: Order = Order.FIFO, timeout: float | None = None
    ) -> None:
        """As `Group.send`, to those who have this channel."""
        await self._port.send(payload, to=to, order=order, timeout=timeout)

    async def send_many(self, payloads: Iterable[bytes], *, timeout: float | None = None) -> None:
        """As `Group.send_many`."""
        await self._port.send_many(payloads, timeout=timeout)

    async def queue(self, payload: bytes, *, to: To = None, timeout: float | None = None) -> Receipt:
        """As `Group.queue`: in the one order, without waiting for the place."""
        return await self._port.queue(payload, to=to, timeout=timeout)

    @property
    def view(self) -> View:
        return self._port.group.view

    # ---- reading

    def __aiter__(self) -> AsyncIterator[GroupEvent]:
        return self

    async def __anext__(self) -> GroupEvent:
        """The next message of this channel, view, or other notice; it may be left and gone on with in any way."""
        while True:
            for message in self._messages:
                self._took()
                return message
            if self._waiting:
                item = self._waiting.popleft()
                if isinstance(item, Batch):
                    self._messages = item.messages()
                elif isinstance(item, _Stop):
                    _do(item)
                else:
                    return item
            elif self._ended is not None:
                raise StopAsyncIteration
            else:
                await self._until_more()

    async def receive(self, timeout: float | None = None) -> GroupEvent:
        """The next event; WaitExpired after `timeout` seconds, or what ended the group."""
        try:
            async with asyncio.timeout(timeout):
                return await self.__anext__()
        except TimeoutError:
            raise WaitExpired(f"nothing came on channel {self.name!r} within {timeout} s") from None
        except StopAsyncIteration:
            assert self._ended is not None
            raise self._ended.copy() from None

    async def _until_more(self) -> None:
        if self._reader is not None:
            raise UsageError(f"another task is reading from channel {self.name!r} already")
        self._reader = asyncio.get_running_loop().create_future()
        try:
            await self._reader
        finally:
            self._reader = None

    def _took(self) -> None:
        self._count -= 1
        self._tell_room()

    # ---- what the group tells it

    def _put(self, item: Batch | Notice | _Stop) -> None:
        self._waiting.append(item)
        self._wake()

    def _wake(self) -> None:
        if self._reader is not None and not self._reader.done():
            self._reader.set_result(None)

    def _on_batch(self, batch: Batch) -> None:
        self._count += len(batch.payloads)
        self._put(batch)

    def _on_notice(self, notice: Notice) -> None:
        """Of a channel that only sends nobody reads the views: of too many that follow each other the last counts."""
        if isinstance(notice, StatesApart):
            return
        if len(self._waiting) >= self._most and type(self._waiting[-1]) is type(notice) is ViewChange:
            self._waiting.pop()
        self._put(notice)

    def _part(self, why: str) -> None:
        """The application is told, whether the states of all blocks stayed apart or only its own."""
        self._put(StatesApart(self._port.group.view.id, why))

    def _end(self, error: RingcastError) -> None:
        super()._end(error)
        for item in self._waiting:
            if isinstance(item, _Stop):
                item.done.cancel()
        self._wake()

    # ---- flow control

    @property
    def _unread(self) -> int:
        return self._count

    @property
    def _is_full(self) -> bool:
        return self._count >= self._most

    # ---- state

    async def _cut(self) -> bytes:
        get_state = self._hooks[0]
        assert get_state is not None
        return self._checked(await self._at_the_reader(get_state), "get_state")

    async def _load(self, state: bytes) -> None:
        set_state = self._hooks[1]
        assert set_state is not None

        def act() -> bytes:
            set_state(state)
            return b""

        if self._opened is None:
            act()  # The join: nobody reads yet, and nothing was delivered.
        else:
            await self._at_the_reader(act)

    def _at_the_reader(self, act: Callable[[], bytes]) -> Awaitable[bytes]:
        """When the application has handled everything that was delivered before."""
        stop = _Stop(act)
        self._put(stop)
        return stop.done

    def _merge(self, sides: Sides) -> bytes:
        merge_state = self._hooks[2]
        if merge_state is None:
            raise Apart(f"channel {self.name!r} was given no merge_state")
        return self._checked(merge_state(sides), "merge_state")

    def _checked(self, state: bytes, hook: str) -> bytes:
        """Anything else would be refused by those who load it, who are not to blame."""
        if not isinstance(state, bytes):
            raise UsageError(f"{hook} of channel {self.name!r} must give bytes, it gave {type(state).__name__}")
        return state


def _do(stop: _Stop) -> None:
    if stop.done.done():
        return  # Whoever wanted it is gone, and will ask again if it must.
    try:
        stop.done.set_result(stop.act())
    except Exception as error:
        stop.done.set_exception(error)
