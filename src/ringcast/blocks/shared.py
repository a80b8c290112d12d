"""A group that several blocks share: each has the messages under its name, all have the views, in one stream.

One task reads the group and hands everything on, in the group's order; a block with a slow reader holds back the whole
group at this member, bounded and lossless, and `explain()` says which. The states of all blocks travel together and are
cut at one place; all members have the same blocks with state, or are told in what they differ.
Messages under a name that this member does not have are counted, by name.
Built on the public API of `ringcast` alone.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any

import msgspec

from ringcast import (
    Address,
    Batch,
    Config,
    Group,
    GroupClosed,
    Notice,
    NotPrimary,
    PlaceLost,
    Rejoin,
    RingcastError,
    StateError,
    StatesApart,
    UsageError,
    View,
    ViewChange,
)
from ringcast import join as join_group
from ringcast.blocks.block import Block, Gate, Port, Sides, prefix_of
from ringcast.blocks.channel import Channel
from ringcast.blocks.control import NO_TAGS, Control, Tags
from ringcast.blocks.tokens import Token

MOST_UNKNOWN = 64  # names that are counted one by one; further ones are counted together
TELL_HELD_SECONDS = 1.0  # a channel holds the group that long before the others are told


class _BlockState(msgspec.Struct, array_like=True):
    """`why`: its sides stayed apart, for this reason. Without a state everybody keeps what it has."""

    kind: str
    state: bytes | None
    why: str | None


class _State(msgspec.Struct, array_like=True):
    view: int
    blocks: dict[str, _BlockState]


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(_State).decode


@dataclass(frozen=True, slots=True)
class Leader:
    """Who leads, if anybody may."""

    member: Address | None
    token: Token


class SharedGroup:
    """What `ringcast.blocks.join` gives. The group's own face is `group`, for everything but reading."""

    def __init__(self, *blocks: Block) -> None:
        self._control = Control()
        self._control.on_begun = self._on_begun
        self._gate = Gate()
        self._blocks: dict[str, Block] = {"": self._control}
        self._by_prefix: dict[bytes, Block] = {prefix_of(""): self._control}
        self._group: Group | None = None
        self._view: View | None = None
        self._views = 0  # that were seen
        self._state_view = 0  # views before this one are part of the state that was loaded
        self._unknown: dict[str, int] = {}
        self._holding: tuple[Block, float] | None = None  # which holds the group back, since when
        self._changed: list[asyncio.Future[None]] = []
        self._ended: RingcastError | None = None
        self._now: Callable[[], float] = lambda: 0.0
        for block in blocks:
            self._add(block)

    def _add(self, block: Block) -> None:
        if block.name in self._blocks:
            raise UsageError(f"there is a channel {block.name!r} on this group already")
        self._blocks[block.name] = block
        self._by_prefix[prefix_of(block.name)] = block

    # ---- who is here

    @property
    def group(self) -> Group:
        if self._group is None:
            raise UsageError("these blocks are on no group yet")
        return self._group

    @property
    def me(self) -> Address:
        return self.group.me

    @property
    def view(self) -> View:
        """The view up to which the blocks have read."""
        return self._view or self.group.view

    @property
    def members(self) -> tuple[Address, ...]:
        return self.view.members

    @property
    def tags(self) -> dict[Address, Tags]:
        """The tags of every member of the view, as far as they are known here; a newcomer's come behind its view."""
        return {member: self._control.tags.get(member, NO_TAGS) for member in self.view.members}

    async def tag(self, **tags: str) -> None:
        """Set this member's tags, in place of those it had: a few words by which others find it. Returns when they are
        known here."""
        await self._control.tag(tags)

    def tagged(self, **wanted: str) -> list[Address]:
        """The members whose tags have these values, in the order of the view."""
        return [member for member, tags in self.tags.items() if wanted.items() <= tags.items()]

    @property
    def unknown(self) -> dict[str, int]:
        """Messages that came under names which this member does not have, by name; they were dropped."""
        return dict(self._unknown)

    @property
    def leader(self) -> Leader:
        """The first member of the view that may lead, with a token that grows with every view; nobody on a side that
        may not go on. Each side of a partition has one."""
        view = self.view
        return Leader(view.coordinator if view.is_primary else None, Token(view.id.number, 0))

    async def leaders(self) -> AsyncIterator[Leader]:
        """The leader now, and again whenever another member leads and behind every merge."""
        told: Leader | None = None
        while self._ended is None:
            views, view = self._views, self.view
            if (
                told is None
                or told.member != self.leader.member
                or (view.is_merge and view.id.number > told.token.view)
            ):
                told = self.leader
                yield told
            while self._views == views and self._ended is None:
                await self._until_changed()

    async def _until_changed(self) -> None:
        """The next view, or the end."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._changed.append(future)
        try:
            await future
        finally:
            if future in self._changed:
                self._changed.remove(future)

    # ---- channels

    def channel(self, name: str, *, unread: int | None = None) -> Channel:
        """A named stream of its own; it has what comes from now on. One with state is made first, for `join`."""
        channel = Channel(name) if unread is None else Channel(name, unread=unread)
        self._add(channel)
        if self._group is not None:
            self._open(channel)
        return channel

    def add(self, block: Block) -> None:
        """A block without state (such as `Rpc`) on a group that runs already."""
        if block.kind is not None:
            raise UsageError(f"{block.name!r} has state: give it to ringcast.blocks.join, so that it is there in time")
        self._add(block)
        self._open(block)

    def _open(self, block: Block) -> None:
        block._open(Port(self.group, block.name, self._gate))
        if self._ended is not None:
            block._end(self._ended)

    # ---- the hooks of ringcast.join

    async def get_state(self) -> bytes:
        blocks = {}
        for block in self._stateful():
            blocks[block.name] = _BlockState(block.kind or "", await block._cut(), block._why_apart)
        return _encode(_State(0 if self._view is None else self._view.id.number, blocks))

    async def set_state(self, chunks: AsyncIterator[bytes]) -> None:
        state = _decode(b"".join([chunk async for chunk in chunks]))
        self._check_same(state, "the others")
        self._state_view = state.view
        for block in self._stateful():
            found = state.blocks[block.name]
            if found.state is not None:
                await block._load(found.state)
            if found.why is None:
                block._why_apart = None
            else:
                block._part(found.why)
        for block in self._stateful():
            block._on_loaded(state.view)

    def merge_state(self, sides: Mapping[tuple[Address, ...], bytes]) -> bytes:
        states = {members: _decode(state) for members, state in sides.items()}
        for members, state in states.items():
            self._check_same(state, f"the side of {members[0]}")
        merged = {block.name: self._merged(block, states) for block in self._stateful()}
        return _encode(_State(max(state.view for state in states.values()), merged))

    def _merged(self, block: Block, states: dict[tuple[Address, ...], _State]) -> _BlockState:
        """What cannot become one stays apart alone; the other blocks go on together."""
        found = {members: state.blocks[block.name] for members, state in states.items()}
        sides: Sides = {members: state.state for members, state in found.items() if state.state is not None}
        why = next((state.why for state in found.values() if state.why is not None), None)
        if why is not None:
            return _BlockState(block.kind or "", None, why)
        try:
            return _BlockState(block.kind or "", block._merge(sides), None)
        except Exception as error:
            return _BlockState(block.kind or "", None, str(error) or type(error).__name__)

    def _check_same(self, state: _State, whose: str) -> None:
        mine = {block.name: block.kind for block in self._stateful()}
        theirs = {name: found.kind for name, found in state.blocks.items()}
        wrong = sorted(name for name in mine.keys() | theirs.keys() if mine.get(name) != theirs.get(name))
        if wrong:
            words = "; ".join(f"{name!r} is {mine.get(name)} here and {theirs.get(name)} there" for name in wrong)
            raise StateError(f"this member and {whose} have not the same blocks with state: {words}")

    def _stateful(self) -> list[Block]:
        return [block for block in self._blocks.values() if block.kind is not None]

    # ---- life

    @asynccontextmanager
    async def on(self, group: Group) -> AsyncIterator[SharedGroup]:
        """Read this group, which was joined with the three state hooks of this object, until the block ends."""
        if self._group is not None:
            raise UsageError("these blocks were on a group before: make new ones for another")
        self._group = group
        self._now = asyncio.get_running_loop().time
        for block in self._blocks.values():
            self._open(block)
        reading = asyncio.create_task(self._read(), name=f"blocks of {group.name}")
        try:
            yield self
        finally:
            reading.cancel()
            with suppress(asyncio.CancelledError):
                await asyncio.wait([reading])
            self._end(GroupClosed(f"the blocks of group {group.name!r} were closed"))

    async def _read(self) -> None:
        try:
            async for item in self.group.batches():
                if type(item) is Batch:
                    for block in self._hand_on(item):
                        while block._is_full:
                            await self._hold(block)
                else:
                    self._on_notice(item)  # type: ignore[arg-type]
        except RingcastError as error:
            self._end(error)
        except Exception as error:  # A bug of ours: nobody may wait for what will never come.
            self._end(GroupClosed(f"the blocks of group {self.group.name!r} failed: {type(error).__name__}: {error}"))
            raise
        else:
            self._end(GroupClosed(f"the group {self.group.name!r} was closed"))

    def _hand_on(self, batch: Batch) -> list[Block]:
        """To each block what is under its name; who got something."""
        touched: list[Block] = []
        payloads, at = batch.payloads, 0
        while at < len(payloads):
            first = payloads[at]
            length = 1 + first[0] if first else 0
            prefix, end = first[:length], at + 1
            if 0 < length <= len(first):  # A whole name; what is shorter may begin as others do.
                while end < len(payloads) and payloads[end].startswith(prefix):
                    end += 1
            block = self._by_prefix.get(prefix)
            if block is None:
                self._count_unknown(prefix, end - at)
            else:
                block._on_batch(batch.with_payloads([payload[length:] for payload in payloads[at:end]]))
                touched.append(block)
            at = end
        return touched

    def _count_unknown(self, prefix: bytes, count: int) -> None:
        name = prefix[1:].decode(errors="replace")
        if name not in self._unknown and len(self._unknown) >= MOST_UNKNOWN:
            name = "…"
        self._unknown[name] = self._unknown.get(name, 0) + count

    def _on_notice(self, notice: Notice) -> None:
        if isinstance(notice, ViewChange) and notice.view.id.number >= self._state_view:
            self._on_view(notice.view)
        elif isinstance(notice, Rejoin):
            self._view, self._state_view = None, 0
            self._gate.close()
            self._fail(PlaceLost(f"{notice.was} lost its place ({notice.why})"))
        elif isinstance(notice, StatesApart):
            for block in self._stateful():
                block._part(notice.why)
        for block in list(self._blocks.values()):
            block._on_notice(notice)

    def _on_view(self, view: View) -> None:
        read = 0 if self._view is None else self._view.id.number
        has_begun = self._state_view > read  # what lies between them is in the state
        self._view = view
        self._views += 1
        self._gate.open()
        for block in list(self._blocks.values()):
            block._on_view(view)
        if not view.is_primary or view.coordinator is None:
            self._fail(NotPrimary(f"view {view.id} may not go on"))
        if has_begun:
            self._control.tell_begun(self._state_view)
        self._wake()

    def _on_begun(self, member: Address, view: int) -> None:
        for block in self._blocks.values():
            block._on_begun(member, view)

    def _fail(self, error: RingcastError) -> None:
        for block in self._blocks.values():
            block._fail(error)

    def _end(self, error: RingcastError) -> None:
        if self._ended is None:
            self._ended = error
            for block in self._blocks.values():
                block._end(error)
            self._gate.open()
            self._wake()

    def _wake(self) -> None:
        changed, self._changed = self._changed, []
        for future in changed:
            if not future.done():
                future.set_result(None)

    # ---- flow control

    async def _hold(self, block: Block) -> None:
        """Nothing is read until this block has room; the others learn why."""
        loop = asyncio.get_running_loop()
        self._holding = (block, loop.time())
        telling = loop.call_later(TELL_HELD_SECONDS, self._tell_held, block)
        try:
            await block._until_room()
        finally:
            told = loop.time() >= telling.when()
            telling.cancel()
            self._holding = None
            if told:
                self._tell("", 0)

    def _tell_held(self, block: Block) -> None:
        self._tell(block.name, block._unread)

    def _tell(self, channel: str, unread: int) -> None:
        task = asyncio.get_running_loop().create_task(self._control.tell_held(channel, unread))
        task.add_done_callback(_forget)

    def explain(self) -> str:
        """As `Group.explain`, and which channel holds whom, what was dropped under unknown names, what stays apart."""
        lines = [self.group.explain()]
        if self._holding is not None:
            block, since = self._holding
            seconds = self._now() - since
            lines.append(
                f"channel {block.name!r} holds the whole group back here for {seconds:.1f} s: {block._unread} messages "
                f"unread\n    it goes on when the application reads that channel"
            )
        for member, (name, unread) in self._control.held.items():
            if member != self.me:
                lines.append(f"{member} reads nothing: its channel {name!r} has {unread} messages unread")
        lines += [
            f"{count} messages came under the name {name!r}, which is no channel here: they were dropped"
            for name, count in self._unknown.items()
        ]
        lines += [
            f"{block.name!r} stays apart since a merge: {block._why_apart}"
            for block in self._blocks.values()
            if block._why_apart is not None and block is not self._control
        ]
        return "\n".join(lines)


def _forget(task: asyncio.Task[None]) -> None:
    """To tell others is a courtesy: that it failed is no error."""
    if not task.cancelled():
        task.exception()


@asynccontextmanager
async def join(
    group: str, *blocks: Block, tags: Mapping[str, str] | None = None, **options: Any
) -> AsyncIterator[SharedGroup]:
    """Join a group with these blocks on it; `options` are those of `ringcast.join`, except its state hooks.

    All members are to be given the same blocks with state. `tags` are this member's from the beginning.
    """
    shared = SharedGroup(*blocks)
    wrong = sorted(options.keys() & {"get_state", "set_state", "merge_state"})
    if wrong:
        raise UsageError(f"{', '.join(wrong)}: state is given to channels, not to ringcast.blocks.join")
    config = options.get("config")
    if isinstance(config, Config) and not config.self_delivery:
        raise UsageError("blocks need self_delivery=True: a write is done when it has come back")
    if tags is not None:
        shared._control.check(dict(tags))
    place = join_group(
        group,
        get_state=shared.get_state,
        set_state=shared.set_state,
        merge_state=shared.merge_state,
        **options,
    )
    async with place as joined, shared.on(joined):
        if tags is not None:
            with suppress(NotPrimary, PlaceLost):  # They are told by themselves as soon as that is possible.
                await shared.tag(**tags)
        yield shared
