"""A block whose members apply the same operations in the one order: what the dictionary, the counter and the locks are.

An operation is sent in the one order, and whoever sent it waits until it was applied here; so it sees its own writes,
and everybody the same sequence. Operations are applied at once and never wait.
The version of an operation is (view number, how many were applied in that view): equal at all who go together, greater
behind a merge than on any of its sides.
What a member sent and was not heard with is delivered to itself at the end of a view. Whether it was done is decided by
the view that follows: on a side that may not go on it was not, as far as anybody can know here. What is read last on
such a side may be in an order of its own: it has the version of what was read before it, so that in a merge whoever
read it in the one order is right.
Invariant: what an operation does depends on the state and on its bytes alone, never on where it is applied.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable
from typing import Any

import msgspec

from ringcast import Address, Batch, Order, Receipt, RingcastError, UsageError, View, ViewId, WaitExpired
from ringcast.blocks.block import UNREADABLE, UNSENDABLE, Block, Pending
from ringcast.blocks.errors import Apart
from ringcast.blocks.tokens import BEFORE, Token

NUMBER_BYTES = 8  # of an operation, before its bytes
NOTHING = b""  # an operation that does nothing

_encode = msgspec.msgpack.Encoder().encode


class OrderedBlock(Block):
    """Subclasses say what an operation is (`_ops`, `_keys_of`) and what it does (`_apply`)."""

    _ops: msgspec.msgpack.Decoder[Any]

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._pending = Pending()
        self._read_view: ViewId | None = None  # up to which this block has read
        self._undecided: list[tuple[int, object]] = []  # results that count if the view that comes next may go on
        self._version = BEFORE  # of the last operation that was applied
        self.malformed = 0  # operations that could not be read, or came outside the one order of all; skipped

    def _keys_of(self, op: Any) -> Iterable[object]:
        """The keys that it names."""
        raise NotImplementedError

    def _apply(self, op: Any, sender: Address, version: Token) -> object:
        """Do it; what its sender is given, an exception to be raised there."""
        raise NotImplementedError

    def _may_apply_apart(self, op: Any) -> bool:
        """Is it one that ends being apart?"""
        return False

    def _read(self, raw: bytes) -> Any:
        """An operation from its bytes, one that can be applied; else one of UNREADABLE, TypeError for a key that cannot
        be one."""
        op = self._ops.decode(raw)
        for key in self._keys_of(op):
            hash(key)
        return op

    # ---- asking for one

    def _raw(self, op: msgspec.Struct) -> bytes:
        """As it travels. What others could not read or apply is refused here."""
        try:
            raw = _encode(op)
            self._read(raw)
        except (*UNREADABLE, *UNSENDABLE) as error:
            raise UsageError(f"{self.name!r} does not take this: {error}") from None
        return raw

    async def _do(self, raw: bytes, timeout: float | None = None) -> Any:
        """Send an operation; returns when it was applied here, with what it gave.

        If it was cancelled or reached its limit once it was sent, it is applied all the same (`error.sent`).
        """
        number, future = self._pending.add()
        try:
            if timeout is None:
                self._pending.on_sent(number, await self._queue(number, raw))
                return await future
            sent: Receipt | None = None
            try:
                async with asyncio.timeout(timeout):
                    sent = await self._queue(number, raw)
                    self._pending.on_sent(number, sent)
                    return await future
            except TimeoutError:
                late = WaitExpired(f"{self.name!r} has not applied it here within {timeout} s")
                late.sent = sent is not None
                raise late from None
        finally:
            self._pending.drop(number)

    def _queue(self, number: int, raw: bytes) -> Coroutine[Any, Any, Receipt]:
        port, body = self._port, number.to_bytes(NUMBER_BYTES, "big") + raw
        return port.queue(body) if port.gate.is_open else self._queue_later(body)

    async def _queue_later(self, body: bytes) -> Receipt:
        await self._port.gate.until_open()
        return await self._port.queue(body)

    async def sync(self, timeout: float = 60.0) -> None:
        """Wait until everything that any member had done before now was applied here: a read behind it is current.

        An operation that does nothing, in the one order: a member without which the others have gone on gets no answer.
        """
        await self._do(NOTHING, timeout)

    # ---- what the group tells it

    def _on_batch(self, batch: Batch) -> None:
        if batch.private or batch.order is not Order.TOTAL:  # Not all get it, or not all at the same place.
            self.malformed += len(batch.payloads)
            return
        sender, mine = batch.sender, len(self._pending) > 0 and self._port.is_me(batch.sender)
        next_view = self._port.group.view
        is_last = next_view.id != self._read_view
        step = 0 if is_last and not _may_go_on(next_view) else 1
        read, apply, settle = self._read, self._apply, self._pending.settle
        view, counter = self._version
        for payload in batch.payloads:
            body = payload[NUMBER_BYTES:]
            try:
                op = read(body) if body else None
            except (*UNREADABLE, TypeError) as error:
                self.malformed += 1
                result: object = UsageError(f"{self.name!r} cannot read this: {error}")
            else:
                if op is None:
                    result = None
                elif self._why_apart is not None and not self._may_apply_apart(op):
                    result = Apart(f"{self.name!r} stays apart since a merge: {self._why_apart}")
                else:
                    counter += step
                    result = apply(op, sender, Token(view, counter))
            if is_last and mine:
                self._undecided.append((int.from_bytes(payload[:NUMBER_BYTES], "big"), result))
            elif mine:
                settle(int.from_bytes(payload[:NUMBER_BYTES], "big"), result)
        self._version = Token(view, counter)

    def _on_view(self, view: View) -> None:
        self._read_view = view.id
        if view.id.number > self._version.view:
            self._version = Token(view.id.number, 0)
        undecided, self._undecided = self._undecided, []
        if _may_go_on(view):
            for number, result in undecided:
                self._pending.settle(number, result)

    def _on_loaded(self, view: int) -> None:
        self._pending.on_loaded(view)

    def _fail(self, error: RingcastError) -> None:
        self._pending.fail(error)


def _may_go_on(view: View) -> bool:
    return view.is_primary and view.coordinator is not None
