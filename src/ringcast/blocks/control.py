"""The control channel of a shared group: members' tags, who has begun where, whose channel holds back the group.

A member's tags are set by itself alone, so no order among members is needed, and told again by a new incarnation; who
joins gets those of all with the state, at its view. Behind a merge each member's tags are those that its own side knew.
Not a guarantee of delivery: that somebody is held back is told once a second and may come late.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from types import MappingProxyType
from typing import Any

import msgspec

from ringcast import Address, Batch, RingcastError, UsageError, View
from ringcast.blocks.block import UNREADABLE, UNSENDABLE, Block, Pending, Sides

MAX_TAG_BYTES = 1024  # of all tags of a member, as they travel

Tags = MappingProxyType[str, str]
NO_TAGS: Tags = MappingProxyType({})


class _Tagged(msgspec.Struct, array_like=True, tag=1):
    tags: dict[str, str]
    number: int  # its sender's own


class _Held(msgspec.Struct, array_like=True, tag=2):
    """The sender reads nothing because of this channel; an empty name: it reads again."""

    channel: str
    unread: int


class _Begun(msgspec.Struct, array_like=True, tag=3):
    """The sender has joined; its state was cut at the view of this number."""

    view: int


class _State(msgspec.Struct, array_like=True):
    tags: list[tuple[Address, dict[str, str]]]


_encode = msgspec.msgpack.Encoder().encode
_message = msgspec.msgpack.Decoder(_Tagged | _Held | _Begun)
_state = msgspec.msgpack.Decoder(_State)


class Control(Block):
    kind = "control"

    def __init__(self) -> None:
        super().__init__("control")
        self.name = ""  # no user's channel can have this name
        self.tags: dict[Address, Tags] = {}
        self.held: dict[Address, tuple[str, int]] = {}  # who reads nothing: because of which channel, messages unread
        self.malformed = 0
        self.wanted: dict[str, str] | None = None  # this member's tags, through all its incarnations
        self._tagging = Pending()
        self._telling: dict[asyncio.Task[None], None] = {}
        self.on_begun: Callable[[Address, int], None] = lambda member, view: None

    async def tag(self, tags: dict[str, str]) -> None:
        """Returns when they are known here."""
        self.check(tags)
        self.wanted = tags
        await self._port.gate.until_open()
        number, known = self._tagging.add()
        try:
            await self._port.send(_encode(_Tagged(tags, number)))
            await known
        finally:
            self._tagging.drop(number)

    @staticmethod
    def check(tags: dict[str, str]) -> None:
        try:
            body = _encode(_Tagged(tags, 0))
            _message.decode(body)
        except (*UNREADABLE, *UNSENDABLE) as error:
            raise UsageError(f"tags must be texts by text: {error}") from None
        if len(body) > MAX_TAG_BYTES:
            raise UsageError(f"the tags have {len(body)} bytes, a member may have {MAX_TAG_BYTES}")

    async def tell_held(self, channel: str, unread: int) -> None:
        await self._port.send(_encode(_Held(channel, unread)))

    # ---- what the group tells it

    def _on_batch(self, batch: Batch) -> None:
        if batch.private:  # What a member says of itself it says to all.
            self.malformed += len(batch.payloads)
            return
        for payload in batch.payloads:
            try:
                message = _message.decode(payload)
            except UNREADABLE:
                self.malformed += 1
                continue
            if isinstance(message, _Tagged):
                self.tags[batch.sender] = MappingProxyType(message.tags)
                if self._port.is_me(batch.sender):
                    self._tagging.settle_up_to(message.number)
            elif isinstance(message, _Begun):
                self.on_begun(batch.sender, message.view)
            elif message.channel:
                self.held[batch.sender] = (message.channel, message.unread)
            else:
                self.held.pop(batch.sender, None)

    def _on_view(self, view: View) -> None:
        for gone in [member for member in self.tags if member not in view]:
            del self.tags[gone]
        for gone in [member for member in self.held if member not in view]:
            del self.held[gone]
        if self.wanted is not None and view.is_primary and self.tags.get(self._port.group.me) != self.wanted:
            self._tell_again()

    def _tell_again(self) -> None:
        """A new incarnation has none yet, and on a side that may not go on none could be set."""
        self._begin(self._tell_wanted())

    async def _tell_wanted(self) -> None:
        """Those that are wanted when this is sent, not when it was begun: a later `tag` is not undone."""
        await self._port.send(_encode(_Tagged(self.wanted or {}, 0)))

    def tell_begun(self, view: int) -> None:
        self._begin(self._port.send(_encode(_Begun(view))))

    def _begin(self, telling: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(telling)
        self._telling[task] = None
        task.add_done_callback(self._told)

    def _told(self, task: asyncio.Task[None]) -> None:
        del self._telling[task]
        if not task.cancelled():
            task.exception()  # Then the next view brings it.

    def _part(self, why: str) -> None:
        """Never apart: everybody tells its own again."""
        if self.wanted is not None:
            self._tell_again()

    def _fail(self, error: RingcastError) -> None:
        self._tagging.fail(error)

    def _end(self, error: RingcastError) -> None:
        super()._end(error)
        self.held.clear()

    # ---- state

    async def _cut(self) -> bytes:
        return _encode(_State([(member, dict(tags)) for member, tags in self.tags.items()]))

    async def _load(self, state: bytes) -> None:
        self.tags = {member: MappingProxyType(tags) for member, tags in _state.decode(state).tags}

    def _on_loaded(self, view: int) -> None:
        if len(self._tagging) > 0 and self.tags.get(self._port.group.me) == self.wanted:  # its message is in the state
            self._tagging.settle_up_to(self._tagging.last)

    def _merge(self, sides: Sides) -> bytes:
        found = []
        for members, state in sides.items():
            found += [(member, tags) for member, tags in _state.decode(state).tags if member in members]
        return _encode(_State(found))
