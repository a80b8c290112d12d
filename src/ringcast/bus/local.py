"""LocalBus: one order among the threads of one process, on the pure rule of `order/`. The reference model of SharedBus.

Every step of seed 002 is here as it is written there: the lower bound is read, the copies are staged one by one, the
counter ticks, the copies are committed one by one. Each inbox has its own lock; no lock spans two of them. The steps of
one call are taken as a whole (aside.py): a signal handler that raises ends the call, not the steps.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from types import TracebackType
from typing import Literal, Self, overload

from ringcast.bus.aside import Waiters, until, whole
from ringcast.bus.doorbell import WATCH_S
from ringcast.bus.errors import BusUnusable, NameTaken, UnknownPeer
from ringcast.bus.inbox import Batch
from ringcast.bus.local_peer import LocalPeer
from ringcast.bus.message import Cause
from ringcast.bus.names import checked_peer_name
from ringcast.bus.peer import Patience
from ringcast.bus.recorded import Record, RecordedPeer
from ringcast.errors import ConfigError


@dataclass(slots=True)
class Counter:
    """The one counter: reading it and adding to it are atomic."""

    _value: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def read(self) -> int:
        return self._value

    def tick(self) -> int:
        with self._lock:
            self._value += 1
            return self._value


class LocalBus:
    """A bus inside one process. Threads share the object and attach their peers to it."""

    def __init__(self, name: str = "local", *, max_peers: int = 32, ring_bytes: int = 1 << 20) -> None:
        if max_peers < 1:
            raise ConfigError(f"max_peers is {max_peers}, not at least 1")
        if ring_bytes < 1 << 12:
            raise ConfigError(f"ring_bytes is {ring_bytes}, not at least {1 << 12}")
        self.name, self.ring_bytes, self._max_peers = name, ring_bytes, max_peers
        self._counter, self._incarnations = Counter(), Counter()
        self._peers: dict[str, LocalPeer] = {}
        self._lock = threading.Lock()
        self._changed = Waiters()

    @classmethod
    def open(cls, name: str = "local", *, max_peers: int = 32, ring_bytes: int = 1 << 20) -> Self:
        """A new bus; unlike a shared one it cannot be found by its name."""
        return cls(name, max_peers=max_peers, ring_bytes=ring_bytes)

    @overload
    def attach(self, name: str) -> LocalPeer: ...

    @overload
    def attach(self, name: str, *, record: Record) -> RecordedPeer: ...

    def attach(self, name: str, *, record: Record | None = None) -> LocalPeer | RecordedPeer:
        """Become a peer under this name. Messages queued from now on can reach it; earlier ones do not.

        `record` makes a recorder for it, for example `to_directory(path)`.
        """
        checked, made = checked_peer_name(name), list[LocalPeer]()
        try:
            whole(lambda: made.append(self._attach(checked)))
        except BaseException:  # A signal handler raised: nobody has this peer.
            whole(lambda: self._drop(made))  # Behind the first step, which is taken all the same.
            raise
        peer = made[0]
        return peer if record is None else RecordedPeer.around(peer, self.name, self.ring_bytes, record)

    def _attach(self, name: str) -> LocalPeer:
        with self._lock:
            if name in self._peers:
                raise NameTaken(f"bus {self.name!r}: peer {name!r} is already attached")
            if len(self._peers) >= self._max_peers:
                raise BusUnusable(f"bus {self.name!r} has no free slot: {self._max_peers} are attached")
            peer = LocalPeer(self, name, self._incarnations.tick())
            self._peers = {**self._peers, name: peer}  # Replaced, never changed: readers need no lock.
            self._changed.wake()
        self.ring_all()
        return peer

    def _drop(self, peers: list[LocalPeer]) -> None:
        for peer in peers:
            self._release(peer, "detached")

    def ring_all(self) -> None:
        for peer in self._peers.values():
            peer.ring()

    def attached(self) -> dict[str, LocalPeer]:
        return self._peers

    def named(self, name: str) -> LocalPeer:
        if name not in self._peers:
            raise UnknownPeer(f"no peer {name!r} is attached to bus {self.name!r}")
        return self._peers[name]

    def send(self, sender: LocalPeer, receivers: list[LocalPeer], batch: Batch) -> int:
        """One message, or one batch, through all steps of the seed. The caller has found room; it is a whole step."""
        transaction = sender.next_transaction()
        seq_lower = self._counter.read()
        for receiver in receivers:
            receiver.inbox.stage(sender.incarnation, transaction, seq_lower, batch)
        seq = self._counter.tick()
        for receiver in receivers:
            receiver.inbox.commit(sender.incarnation, transaction, seq)
            receiver.ring()
        return seq

    def release(self, peer: LocalPeer, cause: Cause) -> None:
        """Take a peer out and tell the others, at one place in the order (O12). Does nothing the second time."""
        whole(lambda: self._release(peer, cause))

    def _release(self, peer: LocalPeer, cause: Cause) -> None:
        with self._lock:
            if self._peers.get(peer.name) is not peer:
                return
            self._peers = {name: other for name, other in self._peers.items() if other is not peer}
            self._changed.wake()
        peer.left = cause
        peer.inbox.close()
        with peer.queueing:  # Behind what the peer is queueing now; what it tries later is refused.
            self.send(peer, list(self._peers.values()), Batch(peer.name, 0, left=cause))
        peer.ring()

    def wait_for_change(self, timeout: float | None) -> None:
        """Until somebody comes or goes, or somebody else is to be looked after."""
        before = self._peers

        def look(waiter: threading.Lock) -> Literal[True] | None:
            with self._lock:
                if self._peers is not before:
                    return True
                self._changed.add(waiter)
                return None

        until(look, self._drop_waiter, Patience(timeout).left_up_to(WATCH_S))

    def _drop_waiter(self, waiter: threading.Lock) -> None:
        with self._lock:
            self._changed.drop(waiter)

    def close(self) -> None:
        """Detach whoever is still attached."""
        for peer in list(self._peers.values()):
            peer.detach()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
