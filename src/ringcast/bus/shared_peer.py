"""A peer of a shared bus: the native Port with names, words for what it refuses, and the asyncio forms."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Iterable
from typing import Final, NamedTuple, NoReturn

from ringcast.bus.doorbell import Doorbell, FifoDoorbell
from ringcast.bus.errors import BusFull, BusWaitExpired, Detached, Fenced, MessageTooLong, UnknownPeer
from ringcast.bus.file import BusFile
from ringcast.bus.message import CAUSES, Message, PeerLeft, Run
from ringcast.bus.names import destinations
from ringcast.bus.peer import Peer
from ringcast.native import _bus

ACTIVE: Final = 1
LEAVING: Final = 2

_attached_here: weakref.WeakSet[SharedPeer] = weakref.WeakSet()


class SlotRow(NamedTuple):
    """One slot as the shared memory shows it."""

    slot: int
    phase: int
    incarnation: int
    cause: int
    pid: int
    name: str


def rows_of(segment: _bus.Segment) -> list[SlotRow]:
    return [SlotRow(*row) for row in segment.slots()]


class SharedPeer(_bus.Port, Peer):
    """One process's place on a shared bus. Queueing and dequeueing are native; see Peer for what they promise."""

    def __init__(self, file: BusFile, segment: _bus.Segment, slot: int, name: str) -> None:
        super().__init__(segment, slot, name, os.getpid(), Message, Run, PeerLeft, CAUSES)
        self.name = name
        self._file, self._segment, self._slot = file, segment, slot
        self._doorbell: FifoDoorbell | None = None
        self._ended: str | None = None
        self._ending = threading.RLock()  # One thread makes the bell or ends the peer at a time.
        _attached_here.add(self)

    def names(self) -> list[str]:
        return [row.name for row in self._active()]

    def evict(self, name: str) -> None:
        for row in self._active():
            if row.name == name:
                self._segment.evict(row.slot, row.incarnation)
                return
        raise UnknownPeer(f"no peer {name!r} is attached to bus {self._file.name!r}")

    def detach(self) -> None:
        with self._ending:
            if self._ended is not None:
                return
            self._leave()
            self._end("was detached")
            self._file.close()

    def _end(self, why: str) -> None:
        self._ended = why
        self._close()
        if self._doorbell is not None:
            self._doorbell.end()
        self._segment.close()

    def _bell(self) -> Doorbell:
        with self._ending:
            if self._ended is not None:
                self._refuse_closed()
            if self._doorbell is None:
                self._doorbell = FifoDoorbell(f"{self._file.fifo_prefix}{self._slot}")
            return self._doorbell

    def _arm_mail(self) -> None:
        self._bell()  # First: whoever rings an armed bell opens its FIFO, and would keep that of a killed former owner.
        super()._arm_mail()

    def _arm_room(self) -> None:
        self._bell()
        super()._arm_room()

    def _place(self) -> int:
        return self._incarnation

    def _last_number(self) -> int:
        return self._number

    def _barrier_passed(self) -> int:
        return self._barrier

    def _active(self) -> list[SlotRow]:
        if self._ended is not None:
            self._refuse_closed()
        return [row for row in rows_of(self._segment) if row.phase == ACTIVE]

    def _resolve(self, to: str | Iterable[str]) -> int:
        slots = {row.name: row.slot for row in self._active()}
        return sum(1 << slots[name] for name in destinations(to, self.name, slots, self._file.name))

    def _refuse_full(self, slot: int, queued: int, count: int, timeout: float | None, waited: bool) -> NoReturn:
        name = next((row.name for row in rows_of(self._segment) if row.slot == slot), "?")
        what = f"bus {self._file.name!r}: the ring from {self.name!r} to {name!r} is full, {queued} of {count} messages"
        if waited:
            raise BusWaitExpired(f"{what} were queued within {timeout} s", queued)
        raise BusFull(f"{what} were queued", queued)

    def _refuse_long(self, length: int) -> NoReturn:
        ring_bytes = self._file.geometry.ring_bytes
        raise MessageTooLong(
            f"a message of {length} bytes is too long for bus {self._file.name!r}: with ring_bytes={ring_bytes} "
            f"the longest has {_bus.longest(ring_bytes)} bytes"
        )

    def _refuse_lost(self) -> NoReturn:
        cause = next((CAUSES[row.cause] for row in rows_of(self._segment) if row.slot == self._slot), "?")
        given_up = f"peer {self.name!r} was given up by the others of bus {self._file.name!r}"
        raise Fenced(f"{given_up} ({cause}); detach and attach anew")

    def _refuse_closed(self) -> NoReturn:
        raise Detached(f"peer {self.name!r} of bus {self._file.name!r} {self._ended}")

    def _refuse_idle(self, timeout: float | None) -> NoReturn:
        raise BusWaitExpired(f"bus {self._file.name!r}: nothing came for {self.name!r} within {timeout} s")

    def _forget_in_child(self) -> None:
        self._ending = threading.RLock()  # Another thread of the parent may have held it.
        self._forget()
        self._ended = "belongs to the parent process; attach anew after a fork"
        if self._doorbell is not None:
            self._doorbell.abandon()
        self._segment.close()


def _forget_all_in_child() -> None:
    for peer in list(_attached_here):
        peer._forget_in_child()


os.register_at_fork(after_in_child=_forget_all_in_child)
