"""The sending side of a group: what was accepted and has not left, who waits for room, who waits for acks.

Small messages that are sent in one turn of the loop share packets; the first one of a turn leaves at once, so a single
message never waits for company (decision 0013). Behind a full turn there is company: the next one collects from its
first message on.
Invariants: what was accepted is sent before anything for the same destination that is accepted later; nothing is
awaited between accepting a message and returning, so a send that raised or was cancelled was not sent (G15).
Not the windows: whether there is room is the node's to say.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Literal

from ringcast.core import Channel, Deliver, Node
from ringcast.errors import NotMember, NotPrimary, PlaceLost, RingcastError, UsageError, WaitExpired, WindowFull
from ringcast.model import Address, ViewId
from ringcast.runtime.driver import Driver
from ringcast.runtime.forks import ends_with_fork
from ringcast.runtime.forms import ITEM_BYTES, make_turn, measured
from ringcast.runtime.lines import GROUP, Lines, Need
from ringcast.runtime.readers import Readers
from ringcast.runtime.waiting import Limit, Waits
from ringcast.runtime.words import Why, why_aside, why_no_room, why_no_room_to, why_not_flushed
from ringcast.window import largest, total

WhenFull = Literal["wait", "raise"] | None

FULL_FLOW_FRAMES = 16  # what one turn may collect when the turn before was full; else one frame
TURN_MESSAGES = 4_096  # and never more than these, so that the loop gets its turn
CHUNK = 4_096  # messages of a long list that are looked at together
MIXED_AT_ONCE = 256  # of a list in which some are cut into pieces


class Sending:
    """One member's sends, of the incarnation that it holds; another one is held when the member rejoins."""

    def __init__(self, driver: Driver, waits: Waits, readers: Readers, widen_own: Callable[[], None]) -> None:
        self.hold(driver)
        self._lines = Lines(
            waits, lambda need: readers.watch(need, widen_own, self._waits_for_reader), readers.goes_first
        )
        self._flushing = Lines(waits, lambda need: readers.watch(need, widen_own, lambda _: False))
        self.turn = make_turn()
        self.turn.on_begin, self.turn.on_full = self._begin_turn, self._fill_turn
        self._slots_in_line = 0  # as the turn's, for those in line; while somebody is, nobody else has any
        self._is_turn_full = False
        self._turn_frames = 1  # what one turn may collect
        self._own_private = 0  # private messages to oneself that were not read yet; bounded like any stream
        self._looked_at: ViewId | None = None  # the view in which those who wait have looked last
        self._unknown: PlaceLost | None = None  # of messages of a lost place, which no flush has told yet
        self._closing: RingcastError | None = None
        ends_with_fork(self)

    def on_forked(self) -> None:
        """In the child everything is asked, and refused."""
        self.turn.slots = self._slots_in_line = 0

    def hold(self, driver: Driver) -> None:
        """Go on as the incarnation that this driver has."""
        self._driver = driver
        self._node: Node = driver.node

    @property
    def is_empty(self) -> bool:
        """Everything that was accepted has left."""
        return not self.turn.outbox

    def look(self) -> None:
        """Something was freed."""
        self.flush_outbox()
        if self._lines:
            self._look_in_lines()

    def look_at_flushes(self) -> None:
        """Something was freed, and what could be sent has been."""
        if self._flushing:
            self._flushing.look()

    def _look_in_lines(self) -> None:
        view = self._node.view.id if self._node.has_group else None
        if view != self._looked_at:
            self._looked_at = view
            self._lines.wake_all()
            return
        self._lines.look()
        if self._slots_in_line > 1:
            self._lines.look_behind(GROUP, self._slots_in_line, self.turn.room_bytes)

    def on_own_read(self) -> None:
        """The application has read a private message to itself."""
        self._own_private -= 1
        self._lines.look()

    def expel(self, error: PlaceLost) -> None:
        """The place is lost, and with it what had not left. Called while the driver is still that of the lost place."""
        self._lines.expel(error.copy("nothing was sent"))
        unknown = error.unknown("whether what was sent before and not acked reached the others cannot be known")
        if self._has_unacked:
            self._unknown = unknown
        if self._flushing:
            self._flushing.expel(unknown)
            self._unknown = None
        self.turn.outbox.clear()
        self.turn.slots = self._slots_in_line = self.turn.room_bytes = self._own_private = 0

    @property
    def _has_unacked(self) -> bool:
        node = self._node
        if self.turn.outbox or (node.has_group and node.group.outgoing.window.occupancy):
            return True
        return any(stream.window.occupancy for stream in node.peers.outgoing.values())

    def close(self, error: RingcastError) -> None:
        self._closing = error
        self.turn.outbox.clear()
        self.turn.slots = self._slots_in_line = self.turn.room_bytes = 0
        self._lines.close(error)
        self._flushing.close(error)

    # ---- one message

    def put(self, payload: bytes) -> bool:
        """Accept a message into the turn's packet, if that needs no question and no waiting."""
        size, turn = len(payload), self.turn
        if turn.slots <= 0 or size > turn.room_bytes or size > turn.largest or type(payload) is not bytes:
            return False
        turn.slots -= 1
        turn.room_bytes -= size + ITEM_BYTES
        turn.outbox.append(payload)
        if not turn.began:
            turn.on_begin()
        elif turn.slots == 0 or turn.room_bytes < size:
            turn.on_full()
        return True

    async def send(self, payload: bytes, to: list[Address] | None, timeout: float | None, when_full: WhenFull) -> None:
        """The way with all questions: room for one message, of any size, to the group or to some of it."""
        payload = self.checked(payload)
        if to is not None:
            await self._send_to(payload, to, Limit(timeout), when_full)
        elif not self.put(payload):
            await self._send_to_group(payload, Limit(timeout), when_full)

    def checked(self, payload: bytes) -> bytes:
        """The payload as bytes, if it is one that this member may send at all."""
        if self._closing is not None:
            raise self._closing.copy()
        if not isinstance(payload, bytes | bytearray | memoryview):
            raise UsageError(f"a payload must be bytes, got {type(payload).__name__}")
        payload, most = bytes(payload), self._node.config.max_message_bytes
        if len(payload) > most:
            raise UsageError(f"a message of {len(payload)} bytes is above max_message_bytes {most}")
        return payload

    @property
    def _is_primary(self) -> bool:
        return self._node.may_go_on

    def _not_primary(self) -> NotPrimary | None:
        return None if self._is_primary else NotPrimary(f"nothing was sent: {why_aside(self._node)}")

    # ---- to the group

    async def _send_to_group(self, payload: bytes, limit: Limit, when_full: WhenFull) -> None:
        size = len(payload)
        self.flush_outbox()
        if self.put(payload):
            return
        await self._until_room(
            Need(
                lambda: self._may_send(size),
                (GROUP,),
                lambda: self.refusal(size) is not None,
                self._node.pieces(size),
                size + ITEM_BYTES,
                self._node.pieces(size),
            ),
            lambda: self.refusal(size),
            lambda: why_no_room(self._driver, self._node.pieces(size)),
            limit,
            when_full,
        )
        if not self._put_in_turn(payload):
            self._send_now(payload)

    def refusal(self, size: int) -> RingcastError | None:
        """Why a message of this size cannot be sent to the group in its present view, however long it waits."""
        if not self._node.has_group:
            return None
        pieces, capacity = self._node.pieces(size), self._node.group.capacity
        if pieces > capacity:
            return UsageError(
                f"a message of {size} bytes needs {pieces} packets, the window has {capacity} "
                f"in view {self._node.view.id}; nothing was sent"
            )
        return self._not_primary()

    def _may_send(self, size: int) -> bool:
        """Is there room for it, apart from those who wait before?"""
        node = self._node
        if self._is_turn_full or self._driver.is_busy:
            return False
        if self.turn.outbox:  # It may go with those that were accepted in this turn.
            return self._slots_in_line > 0 and size <= self.turn.room_bytes and size <= self.turn.largest
        if size <= node.largest_whole:
            return node.space().takes(1, size)
        if node.space().takes(node.pieces(size), size, together=True):
            return True
        node.await_room(node.pieces(size))
        return False

    def _put_in_turn(self, payload: bytes) -> bool:
        """Put a message whose turn in line has come, before those that are still in line."""
        if not self.turn.outbox:
            self.refill()
        self.turn.slots, self._slots_in_line = self.turn.slots + self._slots_in_line, 0
        is_put = self.put(payload)
        if self._lines.holds(GROUP):
            self.turn.slots, self._slots_in_line = 0, self.turn.slots + self._slots_in_line
        return is_put

    def _send_now(self, payload: bytes) -> None:
        driver, node, now = self._driver, self._node, self._driver.now_ns()
        self.flush_outbox()
        if len(payload) > node.largest_whole:
            driver.execute(node.send_large(now, payload))
        else:
            driver.execute(node.send(now, [payload], [len(payload)]))
        self.refill()

    # ---- to some members

    async def _send_to(self, payload: bytes, peers: list[Address], limit: Limit, when_full: WhenFull) -> None:
        size = len(payload)
        self.flush_outbox()
        await self._until_room(
            Need(lambda: self._may_send_to(size, peers), tuple(peers), lambda: bool(self._refusal_to(size, peers))),
            lambda: self._refusal_to(size, peers),
            lambda: self._why_no_room_to(size, peers),
            limit,
            when_full,
        )
        driver, node = self._driver, self._node
        others = [peer for peer in peers if peer != node.me]
        driver.execute(node.send_to(driver.now_ns(), others, payload))
        if len(others) < len(peers):
            self._own_private += 1
            driver.inbox.append(Deliver(node.me, Channel.PEER, [payload], 0, 0, size))
            driver.on_inbox()

    def _refusal_to(self, size: int, peers: list[Address]) -> RingcastError | None:
        """The same for a message to some members: who left will never make room (seed 210)."""
        node = self._node
        if not node.has_group:
            return None
        pieces, capacity = node.pieces(size), node.config.stream_capacity
        if pieces > capacity:  # It needs room for all its packets at once, which a smaller window never has.
            return UsageError(
                f"a private message of {size} bytes needs {pieces} packets, stream_capacity is {capacity}"
            )
        return self._not_primary() or self.not_members(peers)

    def not_members(self, peers: Sequence[Address]) -> NotMember | None:
        view = self._node.view
        strangers = [peer for peer in peers if peer not in view]
        if not strangers:
            return None
        return NotMember(f"{', '.join(map(str, strangers))} not in the view {view}; nothing was sent")

    def _may_send_to(self, size: int, peers: list[Address]) -> bool:
        node = self._node
        if not node.has_group or self._driver.is_busy:
            return False
        if self._is_own_full and node.me in peers:
            return False
        return node.may_send_to([peer for peer in peers if peer != node.me], size)

    def _waits_for_reader(self, need: Need) -> bool:
        """Nothing but this application's own reading would let it go."""
        node = self._node
        if GROUP in need.to:
            return node.has_group and node.own_room() < self._lines.pieces(GROUP)
        return node.me in need.to and self._is_own_full

    @property
    def _is_own_full(self) -> bool:
        return self._own_private >= self._node.config.stream_capacity

    def _why_no_room_to(self, size: int, peers: list[Address]) -> Why:
        own = self._own_private if self._is_own_full and self._node.me in peers else 0
        return why_no_room_to(self._driver, peers, size, own)

    # ---- many messages

    async def send_many(self, payloads: list[bytes], timeout: float | None) -> None:
        """In order. What ends it early says with `sent` how many of them were sent, a cancellation too."""
        limit, at = Limit(timeout), 0
        sizes, are_bytes = measured(payloads)
        try:
            await self.until_place(limit)
            are_whole = are_bytes and largest(sizes) <= self._node.largest_whole
            while at < len(payloads):
                if are_whole:
                    at += await self._send_some(payloads[at : at + CHUNK], sizes[at : at + CHUNK], limit)
                    continue
                await self._send_first(payloads[at], limit)
                at += 1
                if are_bytes:
                    at += self._send_with_it(payloads[at : at + MIXED_AT_ONCE], sizes[at : at + MIXED_AT_ONCE])
        except (RingcastError, asyncio.CancelledError) as error:
            error.sent = at  # type: ignore[union-attr]
            raise

    async def _send_some(self, payloads: list[bytes], sizes: Sequence[int], limit: Limit) -> int:
        """As many of these, from the front, as there is room for; at least one."""
        size = sizes[0]
        self.flush_outbox()
        await self._until_room(
            Need(
                lambda: not self.turn.outbox and self._may_send(size),
                (GROUP,),
                lambda: not self._is_primary,
                len(sizes),
                total(sizes),
            ),
            self._not_primary,
            lambda: why_no_room(self._driver),
            limit,
            None,
        )
        count = self._node.space().fit(sizes)
        if count < len(payloads):
            payloads, sizes = payloads[:count], sizes[:count]
        self._driver.execute(self._node.send(self._driver.now_ns(), payloads, sizes))
        self._fill_turn()  # Let acks and other members' messages in before more is sent.
        return count

    async def _send_first(self, payload: bytes, limit: Limit) -> None:
        """The first of messages of which some must be cut, or of some other kind than bytes."""
        payload = self.checked(payload)
        if not self.put(payload):
            await self._send_to_group(payload, limit, None)

    def _send_with_it(self, payloads: list[bytes], sizes: Sequence[int]) -> int:
        """How many, from the front, have room at once, whole or in pieces; their packets leave together."""
        if self._closing is not None or self._lines.holds(GROUP) or not self._is_primary:
            return 0
        self.flush_outbox()
        if self.turn.outbox or self._is_turn_full or self._driver.is_busy:
            return 0
        node, now, effects, at = self._node, self._driver.now_ns(), [], 0
        while at < len(payloads):
            end = self._end_of_whole(sizes, at)
            if end > at:
                count = node.space().fit(sizes[at:end])
                if count:
                    effects += node.send(now, payloads[at : at + count], sizes[at : at + count])
                at += count
                if at < end:
                    break
            elif sizes[at] <= node.config.max_message_bytes and self._may_send(sizes[at]):
                effects += node.send_large(now, payloads[at])
                at += 1
            else:
                break
        if effects:
            self._driver.execute(effects)
            self._fill_turn()  # Let acks and other members' messages in before more is sent.
        return at

    def _end_of_whole(self, sizes: Sequence[int], at: int) -> int:
        """The first from there on that does not fit a frame."""
        most = self._node.largest_whole
        return next((index for index in range(at, len(sizes)) if sizes[index] > most), len(sizes))

    # ---- one turn of the loop

    def _begin_turn(self) -> None:
        """The first message of a turn leaves at once; the others of the same turn go together at its end."""
        turn = self.turn
        turn.began = True
        payloads = turn.outbox
        if len(payloads) == 1:  # the usual case, without a table of lengths
            size = len(payloads[0])
            if self._node.space().takes(1, size):
                turn.outbox = []
                self._driver.execute(self._node.send(self._driver.now_ns(), payloads, (size,)))
        else:
            self._send_outbox()
        if self.turn.outbox or self._driver.is_busy:
            self.refill()  # Else what the turn may accept is what it was, without this message: no need to ask again.
        self._driver.wake.at_end(self._end_turn)

    def _end_turn(self) -> None:
        self.turn.began = False
        self._turn_frames = 1
        if self.turn.outbox:
            self.flush_outbox()
            if self._lines:
                self._look_in_lines()

    def _fill_turn(self) -> None:
        """The turn is full: the next message waits until the loop has turned, before it is accepted."""
        if self._is_turn_full:
            return
        self._is_turn_full = True
        self.flush_outbox()
        asyncio.get_running_loop().call_soon(self._next_turn)

    def _next_turn(self) -> None:
        """Behind a full turn: this one begins with it, so that its first message need not leave alone."""
        self._is_turn_full = False
        self.turn.began = True
        self._turn_frames = FULL_FLOW_FRAMES
        self.flush_outbox()
        if self._lines:
            self._look_in_lines()
        asyncio.get_running_loop().call_soon(self._end_turn)  # Behind those who were woken, and those who yielded.

    def flush_outbox(self) -> None:
        """Send what may be sent; a roll call that began in this turn holds the rest until its view or its cancel."""
        if self.turn.outbox:
            self._send_outbox()
        self.refill()

    def _send_outbox(self) -> None:
        sizes, _ = measured(self.turn.outbox)
        count = self._node.space().fit(sizes)
        payloads, self.turn.outbox = self.turn.outbox, []
        if count < len(payloads):
            payloads, sizes, self.turn.outbox = payloads[:count], sizes[:count], payloads[count:]
        if count:
            self._driver.execute(self._node.send(self._driver.now_ns(), payloads, sizes))

    def refill(self) -> None:
        """Ask the node what may go through the outbox: a frame's worth, or few; for those in line if there are any."""
        node = self._node
        self.turn.slots = self._slots_in_line = self.turn.room_bytes = 0
        if self._is_turn_full or self.turn.outbox or self._driver.is_busy or self._closing is not None:
            return
        if not node.has_group or not node.may_go_on:
            return
        space = node.space()
        self.turn.largest = node.largest_whole
        self.turn.room_bytes = min(self._turn_frames * node.largest_whole, space.nbytes)
        slots = min(space.slots, TURN_MESSAGES)
        if self._lines.holds(GROUP):
            self._slots_in_line = slots
        else:
            self.turn.slots = slots

    # ---- waiting

    async def _until_room(
        self,
        need: Need,
        refusal: Callable[[], RingcastError | None],
        why: Callable[[], Why],
        limit: Limit,
        when_full: WhenFull,
    ) -> None:
        """Until what it needs is there and its turn has come; raises what will never let it go."""
        error = refusal()
        if error is not None:
            raise error
        if need.ready() and not any(map(self._lines.holds, need.to)):
            return
        is_raising = (when_full or self._node.config.when_full) == "raise" and self._node.has_group
        if need.to[:1] == (GROUP,):  # Nobody overtakes who waits.
            self.turn.slots, self._slots_in_line = 0, self.turn.slots + self._slots_in_line
        await self._lines.until(
            need,
            "send",
            limit,
            why,
            is_brief=lambda: self._is_turn_full,
            instead=(lambda: WindowFull(f"no room to send: {why()}")) if is_raising else None,
            sent=False,
        )
        error = refusal()
        if error is not None:
            raise error

    async def until_place(self, limit: Limit) -> None:
        """Until this member is in a group, which it is unless it just lost its place; raises when that is over."""
        if self._closing is not None:
            raise self._closing.copy()
        if not self._node.has_group:
            need = Need(lambda: self._node.has_group)
            await self._lines.until(need, "send", limit, lambda: why_no_room(self._driver), sent=False)

    async def until_left(self, limit: Limit) -> None:
        """Until everything that was accepted has left."""
        self.flush_outbox()
        left = Need(lambda: not self.turn.outbox)
        await self._flushing.until(left, "leave", limit, lambda: why_no_room(self._driver))

    async def flush(self, limit: Limit, is_queued: Callable[[], bool]) -> None:
        """Until everything sent so far has been acked by all who must have it. `is_queued`: so is what is ordered.

        Of what was sent before the place was lost, the first flush says that nobody knows.
        """
        if self._unknown is not None and self._closing is None:
            error, self._unknown = self._unknown, None
            raise error
        await self.until_place(limit)
        self.flush_outbox()
        left = Need(lambda: not self.turn.outbox and is_queued())
        try:
            await self._flushing.until(left, "flush", limit, lambda: why_no_room(self._driver))
            acked = Need(self._all_acked())
            await self._flushing.until(acked, "flush", limit, lambda: why_not_flushed(self._driver))
        except WaitExpired as error:
            error.sent = True  # Everything was accepted; only that all have it is not known.
            raise

    def _all_acked(self) -> Callable[[], bool]:
        """Whether everything that has left by now is acked; asked again and again."""
        window = self._node.group.outgoing.window
        high = window.high
        streams = self._node.peers.outgoing
        marks = {peer: stream.window.high for peer, stream in streams.items()}
        begun = dict(streams)

        def has_acked(peer: Address, mark: int) -> bool:
            """A stream that was given up has nobody left to wait for; one that began anew counts from 1 again."""
            stream = streams.get(peer)
            if stream is None:
                return True
            return stream.window.low >= mark if stream is begun[peer] else stream.is_idle

        return lambda: window.low >= high and all(has_acked(peer, mark) for peer, mark in marks.items())
