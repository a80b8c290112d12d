"""The joining spool: what arrives for a joiner while its state is loaded, kept in order, in memory and then on disk.

    oldest  _ready (memory) ─ _blocks (disk) ─ _writing ─ _waiting (memory)  newest

A delivery that the spool has taken counts as taken by this member, so its senders go on (G15's one exception). A full
spool refuses; what it refused waits in the windows, and only then do senders wait.
Bounds: `memory_bytes` for what is in memory, `disk_bytes` for the file; both count every message with its overhead.
The file has no name and belongs to this process alone; it is written and read in a thread, a block at a time. Views and
marks of the stream stay in memory: a block remembers where they stood. Not the state: that is state_loading.py.
"""

from __future__ import annotations

import asyncio
import logging
import os
import tempfile
from collections import deque
from collections.abc import Callable, Iterable
from functools import partial
from typing import IO, NamedTuple

import msgspec

from ringcast.core import Channel, Deliver, Dequeue, Included
from ringcast.model import Batch
from ringcast.order import Stamp

_log = logging.getLogger("ringcast")

MESSAGE_BYTES = 64  # counted for each message beside its payload: the object, its slot in a list
ITEM_BYTES = 256  # and for each delivery or view
WAITING_SHARE = 4  # this part of the memory is for what waits to be written
MAX_BLOCK_BYTES = 4 * 1024 * 1024  # written and read at once

_decode_block = msgspec.msgpack.Decoder(list[tuple[bool, msgspec.Raw] | None])
_decode_deliver = msgspec.msgpack.Decoder(Deliver)
_decode_dequeue = msgspec.msgpack.Decoder(Dequeue)


class Refill:
    """Stands in the stream where the next part of the spool belongs, which is on the disk."""


def is_private(item: object) -> bool:
    """Did it come to this member alone, in no order with others? Then no provider's state has it."""
    return type(item) is Deliver and item.channel is Channel.PEER


def is_to_some(item: object) -> bool:
    """Did it go to some members only? Then a state has it if its provider was one of them (`is_included`)."""
    return isinstance(item, Deliver) and item.channel is Channel.PEER


def is_included(item: object, includes: Iterable[Included]) -> bool:
    """Does a state have this message, which went to some members in the one order?"""
    if isinstance(item, Dequeue):
        place, to = item.stamp, item.to
    elif type(item) is Batch and isinstance(item._place, Stamp):  # of a place that was lost
        place, to = item._place, item._to
    else:
        return False
    return to is not None and any(e.since <= place.view < e.before and e.member in to for e in includes)


def _may_be_in_no_state(item: object) -> bool:
    return not isinstance(item, Deliver) or is_to_some(item)


def _is_any(item: object) -> bool:
    return True


class Block(NamedTuple):
    """A part of the file, and what of it stayed in memory: its entries there are empty.

    What `stays` is still to be handed over: so many `messages`; `to_some` and `ordered` of them count for themselves.
    """

    at: int
    nbytes: int
    messages: int
    to_some: int
    ordered: int  # of those to some members
    kept: list[object]
    stays: Callable[[object], bool]


class Spool:
    """`on_room`: a write has ended, so what was refused may find room now."""

    def __init__(self, memory_bytes: int, disk_bytes: int, on_room: Callable[[], None]) -> None:
        self.memory_limit = memory_bytes
        self.disk_limit = disk_bytes
        self.memory_bytes = 0
        self.messages = 0
        self.includes: tuple[Included, ...] = ()  # what the loaded state has of what went to some members
        self._on_room = on_room
        self._ready: deque[object] = deque()
        self._blocks: deque[Block] = deque()
        self._writing: list[object] = []
        self._waiting: deque[object] = deque()
        self._waiting_bytes = 0  # of `_waiting` and `_writing`
        self._file: IO[bytes] | None = None
        self._file_bytes = 0
        self._is_full = False
        self._stays: Callable[[object], bool] = _is_any  # what of `_writing` is still to be handed over
        self._write: asyncio.Future[int] | None = None
        self._is_reading = False

    @property
    def is_empty(self) -> bool:
        return not (self._ready or self._blocks or self._writing or self._waiting)

    @property
    def is_full(self) -> bool:
        """The last delivery was refused."""
        return self._is_full

    @property
    def disk_bytes(self) -> int:
        return self._file_bytes

    @property
    def _is_on_disk(self) -> bool:
        return bool(self._blocks or self._writing or self._waiting)

    # ---- what arrives

    def put(self, item: object) -> bool:
        """Keep this behind everything before it; False: there is no room."""
        cost = _cost(item)
        if not self._is_on_disk and self.memory_bytes + cost <= self._ready_limit:
            self._ready.append(item)
        elif self._may_wait(cost):
            self._waiting.append(item)
            self._waiting_bytes += cost
        else:
            self._is_full = True
            return False
        self._is_full = False
        self.memory_bytes += cost
        self.messages += _messages(item)
        if self._waiting and self._write is None:
            self._begin_write()
        return True

    @property
    def _ready_limit(self) -> int:
        return self.memory_limit - (self.memory_limit // WAITING_SHARE if self.disk_limit else 0)

    def _may_wait(self, cost: int) -> bool:
        """Room in memory until it is written, and room in the file then; one delivery always fits an empty queue."""
        if self._file_bytes + self._waiting_bytes + cost > self.disk_limit:
            return False
        return not self._waiting_bytes or self._waiting_bytes + cost <= self.memory_limit // WAITING_SHARE

    def clear(self) -> list[object]:
        """Throw the messages away; returns what is no message (views), in order."""
        kept = [item for item in self._in_memory() if not isinstance(item, Deliver)]
        self._ready.clear()
        self._waiting.clear()
        self._writing = []
        self._blocks.clear()
        self.memory_bytes = self._waiting_bytes = self.messages = self._file_bytes = 0
        self._drop_file()
        return kept

    def void(self) -> None:
        """Throw away what is part of any later state: views stay, and what went to some members only."""
        self._keep(_may_be_in_no_state)

    def void_to_some(self) -> list[object]:
        """Void all but what went to some members; return what is no message (views), in order."""
        notices = [item for item in self._in_memory() if not isinstance(item, Deliver)]
        self._keep(is_to_some)
        return notices

    @property
    def ordered_to_some(self) -> int:
        """How many messages of the one order it holds that went to some members only."""
        return _ordered(self._in_memory()) + sum(block.ordered for block in self._blocks)

    def _keep(self, stays: Callable[[object], bool]) -> None:
        """Blocks stay as they are on the disk: what does not stay is left out when they are read."""
        self._ready = deque(filter(stays, self._ready))
        self._waiting = deque(filter(stays, self._waiting))
        if self._stays is not is_to_some:  # Else its views were taken out already.
            self._stays = stays
        blocks = (block._replace(kept=list(filter(stays, block.kept)), stays=stays) for block in self._blocks)
        self._blocks = deque(block._replace(messages=block.to_some) for block in blocks if block.to_some or block.kept)
        self._waiting_bytes = _costs(self._waiting) + _costs(self._writing)
        on_disk = sum(_costs(block.kept) for block in self._blocks)
        self.memory_bytes = _costs(self._ready) + on_disk + self._waiting_bytes
        self.messages = sum(map(_messages, self._in_memory())) + sum(block.messages for block in self._blocks)
        if self.is_empty:
            self._drop_file()

    def _in_memory(self) -> list[object]:
        """What is still to be handed over, as far as it is here."""
        on_disk = [item for block in self._blocks for item in block.kept]
        return [*self._ready, *on_disk, *filter(self._stays, self._writing), *self._waiting]

    # ---- what is handed over

    def take(self) -> list[object]:
        """Everything of the front that is in memory; empty if `fetch` must come first."""
        if not self._ready and not self._blocks and not self._writing:
            self._ready, self._waiting = self._waiting, self._ready
            self._waiting_bytes = 0
        taken = list(self._ready)
        self._ready.clear()
        self.memory_bytes -= _costs(taken)
        self.messages -= sum(map(_messages, taken))
        if self.is_empty:
            self._drop_file()
        return taken

    async def fetch(self) -> None:
        """Bring the oldest block from the disk."""
        if not self._blocks and self._write is not None:
            await asyncio.wait([self._write])
        if self._ready or not self._blocks:
            return
        block, file = self._blocks[0], self._file
        assert file is not None
        loop = asyncio.get_running_loop()
        self._is_reading = True
        try:
            items = await loop.run_in_executor(None, _read, file, block)
        finally:
            self._is_reading = False
        if self._blocks and self._blocks[0] is block:  # Else it was cleared or voided meanwhile.
            self._blocks.popleft()
            self._ready.extend(items)
            self.memory_bytes += _costs(items) - _costs(block.kept)

    # ---- the disk

    def _begin_write(self) -> None:
        size = 0
        while self._waiting and (not size or size + _cost(self._waiting[0]) <= MAX_BLOCK_BYTES):
            size += _cost(self._waiting[0])
            self._writing.append(self._waiting.popleft())
        self._stays = _is_any
        loop = asyncio.get_running_loop()
        self._write = loop.run_in_executor(None, self._write_block, self._file, self._file_bytes, self._writing)
        self._write.add_done_callback(partial(self._on_written, self._writing))

    def _write_block(self, file: IO[bytes] | None, at: int, items: list[object]) -> int:
        """In a thread. The file is this process's own and has no name (O_TMPFILE, or unlinked at once)."""
        if file is None:
            file = self._file = tempfile.TemporaryFile(prefix="ringcast-spool-", buffering=0)  # noqa: SIM115  closed by _drop_file
        data = _encode(items)
        written = 0
        while written < len(data):  # By place: a block may be read at the same time.
            written += os.pwrite(file.fileno(), memoryview(data)[written:], at + written)
        return written

    def _on_written(self, items: list[object], done: asyncio.Future[int]) -> None:
        self._write = None
        if done.cancelled() or self._writing is not items:  # It was cleared meanwhile.
            self._drop_file()
            if self._waiting:
                self._begin_write()
            return
        staying = list(filter(self._stays, items))
        self._writing = []
        self._waiting_bytes -= _costs(items)
        self.memory_bytes -= _costs(items)
        error = done.exception()
        if error is not None:
            self._on_refused(error, staying)
            return
        kept = [item for item in staying if not isinstance(item, Deliver)]
        messages, to_some = sum(map(_messages, staying)), sum(map(_messages, filter(is_to_some, staying)))
        counts = messages, to_some, _ordered(staying)
        self._blocks.append(Block(self._file_bytes, done.result(), *counts, kept, self._stays))
        self._file_bytes += done.result()
        self.memory_bytes += _costs(kept)
        if self._waiting:
            self._begin_write()
        self._on_room()

    def _on_refused(self, error: BaseException, items: list[object]) -> None:
        """What should have been written stays in memory; nothing more goes to the disk."""
        if not isinstance(error, OSError):
            raise error
        _log.warning("the joining spool cannot be written: %s; what does not fit in memory waits at its senders", error)
        self.disk_limit = 0
        self._waiting.extendleft(reversed(items))
        self._waiting_bytes += _costs(items)
        self.memory_bytes += _costs(items)

    def _drop_file(self) -> None:
        if self._file is not None and self._write is None and not self._is_reading:
            self._file.close()
            self._file, self._file_bytes = None, 0


def _cost(item: object) -> int:
    if not isinstance(item, Deliver):
        return ITEM_BYTES
    return ITEM_BYTES + item.nbytes + MESSAGE_BYTES * len(item.payloads)


def _costs(items: Iterable[object]) -> int:
    return sum(map(_cost, items))


def _messages(item: object) -> int:
    return len(item.payloads) if isinstance(item, Deliver) else 0


def _ordered(items: Iterable[object]) -> int:
    return sum(item.count for item in items if isinstance(item, Dequeue) and is_to_some(item))


def _encode(items: list[object]) -> bytes:
    rows = [(type(item) is Dequeue, item) if isinstance(item, Deliver) else None for item in items]
    return msgspec.msgpack.encode(rows)


def _read(file: IO[bytes], block: Block) -> list[object]:
    """In a thread."""
    data = bytearray()
    while len(data) < block.nbytes:
        part = os.pread(file.fileno(), block.nbytes - len(data), block.at + len(data))
        if not part:
            raise OSError(f"the joining spool ends at {block.at + len(data)}, within a block")
        data += part
    kept = iter(block.kept)  # Empty, if views were taken out.
    items = [next(kept, None) if row is None else _delivery(*row) for row in _decode_block.decode(data)]
    return [item for item in items if item is not None and block.stays(item)]


def _delivery(is_ordered: bool, row: msgspec.Raw) -> Deliver:
    return _decode_dequeue.decode(row) if is_ordered else _decode_deliver.decode(row)
