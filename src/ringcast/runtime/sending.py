"""The sending side of a group: what was accepted and has not left, who waits for room, who waits for acks.

Small messages that are sent in one turn of the loop share packets; the first one of a turn leaves at once, so a single
message never waits for company (decision 0013). Behind a full turn there is company: the next one collects from its
first message on.
Invariant: what was accepted is sent before anything that is accepted later; a cancelled send has taken nothing.
Not the windows: whether there is room is the node's to say.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from typing import Literal

from ringcast.core import Channel, Deliver, Node
from ringcast.errors import NotMember, NotPrimary, PlaceLost, RingcastError, UsageError, WindowFull
from ringcast.model import Address
from ringcast.runtime.driver import Driver
from ringcast.runtime.waiting import Line, Waits
from ringcast.runtime.words import why_no_room, why_not_flushed, why_not_primary
from ringcast.window import largest, lengths_of

WhenFull = Literal["wait", "raise"] | None

ITEM_BYTES = 2  # a message's place in the length table of its packet
FULL_FLOW_FRAMES = 4  # what one turn may collect when the turn before was full; else one frame
TURN_MESSAGES = 2_048  # and never more than these, so that the loop gets its turn
CHUNK = 4_096  # messages of a long list that are looked at together
LARGE_AT_ONCE = 64  # of those that are cut into pieces


class Sending:
    """One member's sends. `driver` gives the incarnation of the day."""

    def __init__(self, driver: Callable[[], Driver], waits: Waits) -> None:
        self.line = Line(waits, lambda: why_no_room(driver()))
        self.is_turn_full = False
        self._driver_of = driver
        self._flushing = Line(waits, lambda: why_not_flushed(driver()))
        self._outbox: list[bytes] = []
        self._slots = 0  # what may still be put into the outbox without asking the node again
        self._bytes = 0
        self._largest = 0  # of a message that needs no question
        self._turn_began = False
        self._turn_frames = 1  # what one turn may collect
        self._own_private = 0  # private messages to oneself that were not read yet; bounded like any stream
        self._closing: RingcastError | None = None

    @property
    def _driver(self) -> Driver:
        return self._driver_of()

    @property
    def _node(self) -> Node:
        return self._driver_of().node

    @property
    def is_empty(self) -> bool:
        """Everything that was accepted has left."""
        return not self._outbox

    def look(self) -> None:
        """Something was freed."""
        self.flush_outbox()
        self.line.look()
        self._flushing.look()

    def on_own_read(self) -> None:
        """The application has read a private message to itself."""
        self._own_private -= 1
        self.line.look()

    def expel(self, error: RingcastError) -> None:
        """The place is lost, and with it what had not left."""
        self.line.expel(error)
        self._flushing.expel(error)
        self._outbox.clear()
        self._slots = self._bytes = self._own_private = 0

    def close(self, error: RingcastError) -> None:
        self._closing = error
        self._slots = self._bytes = 0
        self.line.close(error)
        self._flushing.close(error)

    # ---- one message

    def put(self, payload: bytes) -> bool:
        """Accept a message into the turn's packet, if that needs no question; the caller yields a turn that is full."""
        size = len(payload)
        if self._slots <= 0 or size > self._bytes or size > self._largest or type(payload) is not bytes:
            return False
        self._slots -= 1
        self._bytes -= size + ITEM_BYTES
        self._outbox.append(payload)
        if not self._turn_began:
            self._begin_turn()
        elif self._slots == 0 or self._bytes < size:
            self.is_turn_full = True
        return True

    async def send_one(self, payload: bytes, timeout: float | None) -> None:
        """To the group, as quickly as it goes."""
        if not self.put(payload):
            await self.send(payload, None, timeout, None)
        elif self.is_turn_full:
            await self.yield_turn()

    async def send(
        self, payload: bytes, to: Iterable[Address] | None, timeout: float | None, when_full: WhenFull
    ) -> None:
        """The way with all questions: room for one message, of any size, to the group or to some of it."""
        await self.until_place(timeout)
        payload = self.checked(payload)
        peers = None if to is None else self.peers(to)
        if peers is not None:
            self._check_streams(len(payload))
        self.flush_outbox()

        def ready() -> bool:
            return not self._is_primary or bool(peers and self._strangers(peers)) or self._may_send(payload, peers)

        if self.line or not ready():
            await self._wait_for_room(ready, timeout, when_full)
        self._check_primary()
        self._check_members(peers or ())  # Whoever left while we waited will never make room (seed 210).
        self._send_now(payload, peers)

    def checked(self, payload: bytes) -> bytes:
        if self._closing is not None:
            raise self._closing
        if not isinstance(payload, bytes | bytearray | memoryview):
            raise UsageError(f"a payload must be bytes, got {type(payload).__name__}")
        self._check_primary()
        payload, most = bytes(payload), self._node.config.max_message_bytes
        if len(payload) > most:
            raise UsageError(f"a message of {len(payload)} bytes is above max_message_bytes {most}")
        pieces, capacity = self._node.pieces(len(payload)), self._node.group.capacity
        if pieces > capacity:
            raise UsageError(f"a message of {len(payload)} bytes needs {pieces} packets, the window has {capacity}")
        return payload

    @property
    def _is_primary(self) -> bool:
        return not self._node.has_group or self._node.view.is_carried

    @property
    def _is_free(self) -> bool:
        """Nobody waits before, and nothing refuses: a message may go without being asked for more than room."""
        return not self.line and self._closing is None and self._is_primary

    def _check_primary(self) -> None:
        if not self._is_primary:
            raise NotPrimary(f"nothing was sent: {why_not_primary(self._node.view)}")

    def _check_streams(self, nbytes: int) -> None:
        """A private message needs room for all its packets at once, which a smaller window never has."""
        pieces, capacity = self._node.pieces(nbytes), self._node.config.stream_capacity
        if pieces > capacity:
            raise UsageError(
                f"a private message of {nbytes} bytes needs {pieces} packets, stream_capacity is {capacity}"
            )

    def peers(self, to: Iterable[Address]) -> list[Address]:
        peers = list(dict.fromkeys(to))
        self._check_members(peers)
        return peers

    def _strangers(self, peers: Sequence[Address]) -> list[Address]:
        return [peer for peer in peers if peer not in self._node.view]

    def _check_members(self, peers: Sequence[Address]) -> None:
        strangers = self._strangers(peers)
        if strangers:
            raise NotMember(f"{', '.join(map(str, strangers))} not in the view {self._node.view}; nothing was sent")

    def _may_send(self, payload: bytes, peers: list[Address] | None) -> bool:
        node = self._node
        if self._outbox or self._driver.is_busy:
            return False
        if peers is not None:
            if node.me in peers and self._own_private >= node.config.stream_capacity:
                return False
            return node.may_send_to([peer for peer in peers if peer != node.me], len(payload))
        if len(payload) > node.largest_whole:
            return node.may_send_large(payload)
        return node.fit([len(payload)]) == 1

    async def _wait_for_room(self, ready: Callable[[], bool], timeout: float | None, when_full: WhenFull) -> None:
        if (when_full or self._node.config.when_full) == "raise":
            raise WindowFull(f"no room to send: {why_no_room(self._driver)}")
        await self.line.until(ready, "send", timeout)

    def _send_now(self, payload: bytes, peers: list[Address] | None) -> None:
        driver, node, now = self._driver, self._node, self._driver.now_ns()
        if peers is not None:
            others = [peer for peer in peers if peer != node.me]
            driver.execute(node.send_to(now, others, payload))
            if len(others) < len(peers):
                self._to_self(payload)
        elif len(payload) > node.largest_whole:
            driver.execute(node.send_large(now, payload))
        else:
            driver.execute(node.send(now, [payload], [len(payload)]))
            self._refill()

    def _to_self(self, payload: bytes) -> None:
        self._own_private += 1
        self._driver.inbox.append(Deliver(self._node.me, Channel.PEER, [payload], 0, 0, len(payload)))
        self._driver.on_inbox()

    # ---- many messages

    async def send_many(self, payloads: list[bytes], timeout: float | None) -> None:
        sizes = lengths_of(payloads)
        await self.until_place(timeout)
        at, node = 0, self._node
        is_plain = largest(sizes) <= node.largest_whole and set(map(type, payloads)) == {bytes}
        self.flush_outbox()
        while at < len(payloads):
            if node is not self._node:
                raise PlaceLost(f"{node.me} lost its place when it had sent {at} of {len(payloads)} messages")
            if is_plain:
                at += await self._send_some(payloads[at : at + CHUNK], sizes[at : at + CHUNK], timeout)
            else:
                at += await self._send_mixed(payloads[at : at + LARGE_AT_ONCE], timeout)

    async def _send_some(self, payloads: list[bytes], sizes: Sequence[int], timeout: float | None) -> int:
        one = sizes[:1]

        def ready() -> bool:
            return not self._is_primary or (not (self._outbox or self._driver.is_busy) and self._node.fit(one) == 1)

        if self.line or not ready():
            await self._wait_for_room(ready, timeout, None)
        self._check_primary()
        count = self._node.fit(sizes)
        if count < len(payloads):
            payloads, sizes = payloads[:count], sizes[:count]
        self._driver.execute(self._node.send(self._driver.now_ns(), payloads, sizes))
        await asyncio.sleep(0)  # Let acks and other members' messages in between.
        return count

    async def _send_mixed(self, payloads: list[bytes], timeout: float | None) -> int:
        """The first, of whatever kind, and with it those that follow and must be cut too; how many that were."""
        await self.send_one(payloads[0], timeout)
        together = self._send_large_now(payloads[1:])
        if together:
            await asyncio.sleep(0)  # Let acks and other members' messages in between.
        return 1 + together

    def _send_large_now(self, payloads: list[bytes]) -> int:
        """How many, from the front, were larger than a frame and had room at once; their packets leave together."""
        node, now, effects, count = self._node, self._driver.now_ns(), [], 0
        for payload in payloads:
            is_large = type(payload) is bytes and node.largest_whole < len(payload) <= node.config.max_message_bytes
            if not is_large or not self._is_free or not self._may_send(payload, None):
                break
            effects += node.send_large(now, payload)
            count += 1
        if count:
            self._driver.execute(effects)
        return count

    # ---- one turn of the loop

    def _begin_turn(self) -> None:
        """The first message of a turn leaves at once; the others of the same turn go together at its end."""
        self._turn_began = True
        self.flush_outbox()
        asyncio.get_running_loop().call_soon(self._end_turn)

    def _end_turn(self) -> None:
        self._turn_began = False
        self._turn_frames = 1
        if self._outbox:
            self.flush_outbox()

    async def yield_turn(self) -> None:
        """The turn is full. The next one begins with it, so that its first message need not leave alone."""
        self.is_turn_full = False
        self._turn_frames = FULL_FLOW_FRAMES
        self.flush_outbox()
        await asyncio.sleep(0)
        if not self._turn_began:
            self._turn_began = True
            asyncio.get_running_loop().call_soon(self._end_turn)

    def flush_outbox(self) -> None:
        """Send what may be sent; a roll call that began in this turn holds the rest until its view or its cancel."""
        if self._outbox:
            sizes = lengths_of(self._outbox)
            count = self._node.fit(sizes)
            payloads, self._outbox = self._outbox, []
            if count < len(payloads):
                payloads, sizes, self._outbox = payloads[:count], sizes[:count], payloads[count:]
            if count:
                self._driver.execute(self._node.send(self._driver.now_ns(), payloads, sizes))
        self._refill()

    def _refill(self) -> None:
        """What may go through the outbox: a frame's worth or few, and nothing while somebody waits in line."""
        node = self._node
        is_held = bool(self.line or self._outbox) or self._driver.is_busy or not self._is_primary
        if is_held or self._closing is not None or not node.has_group:
            self._slots = self._bytes = 0
            return
        window = node.group.outgoing.window
        self._slots = min(node.room(), TURN_MESSAGES)
        self._largest = node.largest_whole
        self._bytes = min(self._turn_frames * node.largest_whole, window.max_bytes - window.bytes)

    # ---- waiting

    async def until_place(self, timeout: float | None) -> None:
        """Until this member is in a group, which it is unless it just lost its place; raises when that is over."""
        if not self._node.has_group:
            await self.line.until(lambda: self._node.has_group, "send", timeout)
        if self._closing is not None:
            raise self._closing

    async def until_left(self, limit: float) -> None:
        """Until everything that was accepted has left."""
        self.flush_outbox()
        if self._outbox:
            await self.line.until(lambda: not self._outbox, "leave", limit)

    async def flush(self, timeout: float) -> None:
        """Until everything sent so far has been acked by all who must have it."""
        await self.until_place(timeout)
        self.flush_outbox()
        window = self._node.group.outgoing.window
        high = window.high + len(self._outbox)
        streams = self._node.peers.outgoing
        marks = {peer: stream.window.high for peer, stream in streams.items()}
        begun = dict(streams)

        def has_acked(peer: Address, mark: int) -> bool:
            """A stream that was given up has nobody left to wait for; one that began anew counts from 1 again."""
            stream = streams.get(peer)
            if stream is None:
                return True
            return stream.window.low >= mark if stream is begun[peer] else stream.is_idle

        def ready() -> bool:
            return window.low >= high and all(has_acked(peer, mark) for peer, mark in marks.items())

        if not ready():
            await self._flushing.until(ready, "flush", timeout)
