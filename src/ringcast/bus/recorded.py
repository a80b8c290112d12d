"""A peer that records what it queues and dequeues, in the common trace format, on the host's monotonic clock.

Every tick is one QUEUE_START and one QUEUE_FINISH, every dequeued run one DEQUEUE, every notice one NOTICE; none has a
view, which is how the checkers know a bus (G11, G12, G13).

Invariant: an attempt and its events are one step under the peer's lock, so the place of an event in the recording is
true also when threads share the peer. Attempts do not wait inside it. START is taken before the attempt, FINISH after.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NoReturn, TypeAlias

from ringcast.bus.doorbell import Doorbell
from ringcast.bus.errors import BusFull, BusWaitExpired
from ringcast.bus.inbox import as_bytes, ticks
from ringcast.bus.message import Message, Payload, PeerLeft, Policy, Run
from ringcast.bus.peer import Patience, Peer
from ringcast.errors import UsageError
from ringcast.model import Address, Event, Kind, check_name
from ringcast.trace import Header, Recorder, RecordingOptions, ThreadedRecorder, host_clock, recording_options

Record: TypeAlias = Callable[[Header], Recorder]


def to_directory(root: str | Path | RecordingOptions) -> Record:
    """Record into a directory of its own for each peer; a thread of the peer's process does the writing."""
    to = recording_options(root)

    def record(header: Header) -> Recorder:
        if problem := check_name(header.member.name):
            raise UsageError(f"this peer cannot be recorded into files: {problem}")
        return ThreadedRecorder(to.directory, replace(header, run=to.run), time.monotonic_ns(), to.limits)

    return record


class RecordedPeer(Peer):
    """Another peer, with everything that happens to it written down."""

    def __init__(self, inner: Peer, bus: str, ring_bytes: int, record: Record) -> None:
        self.name = inner.name
        self._inner, self._ring_bytes, self._endpoint = inner, ring_bytes, f"bus:{bus}"
        self._step = threading.Lock()
        self._dequeued = 0
        header = Header(self._address(inner.name, inner._place()), bus, {"ring_bytes": ring_bytes}, clock=host_clock())
        self._recorder = record(header)

    @classmethod
    def around(cls, inner: Peer, bus: str, ring_bytes: int, record: Record) -> RecordedPeer:
        """One that cannot be recorded is not attached either."""
        try:
            return cls(inner, bus, ring_bytes, record)
        except BaseException:
            inner.detach()
            raise

    def queue_many(
        self,
        payloads: Sequence[Payload],
        *,
        to: str | Iterable[str],
        timeout: float | None = None,
        policy: Policy = "wait",
    ) -> int:
        names = to if isinstance(to, str) else tuple(to)
        wait = Patience(timeout)
        seq = queued = 0
        for part in ticks(as_bytes(payloads), self._ring_bytes):
            while isinstance(answer := self._try_to_queue(part, names), BusFull):
                if policy == "raise":
                    raise BusFull(str(answer), queued)
                if wait.left() == 0:
                    raise BusWaitExpired(f"{answer} within {timeout} s", queued)
                self._inner._wait_for_room(wait.left())
            seq, queued = answer, queued + len(part)
        return seq

    def dequeue_runs(self, limit: int = 1024, *, timeout: float | None = None) -> list[Run | PeerLeft]:
        wait = Patience(timeout)
        while True:
            with self._step:
                taken = self._recorded(self._inner.dequeue_runs(limit, timeout=0))
            if taken or wait.left() == 0:
                return taken
            self._inner._wait_for_mail(wait.left())

    def names(self) -> list[str]:
        return self._inner.names()

    def evict(self, name: str) -> None:
        self._inner.evict(name)

    def detach(self) -> None:
        self._inner.detach()
        self._recorder.close(time.monotonic_ns(), "ended")

    def _try_to_queue(self, part: list[bytes], to: str | tuple[str, ...]) -> int | BusFull:
        with self._step:
            start_ns, first = time.monotonic_ns(), self._inner._last_number() + 1
            try:
                seq = self._inner.queue_many(part, to=to, policy="raise")
            except BusFull as full:
                return full
            detail = {"to": [to] if isinstance(to, str) else list(to)}
            finish_ns, count = time.monotonic_ns(), len(part)
            self._recorder.append(Event(Kind.QUEUE_START, start_ns, first=first, count=count, detail=detail))
            self._recorder.append(Event(Kind.QUEUE_FINISH, finish_ns, first=first, count=count, value=seq))
        return seq

    def _recorded(self, items: list[Run | PeerLeft]) -> list[Run | PeerLeft]:
        now_ns = time.monotonic_ns()
        for item in items:
            if isinstance(item, PeerLeft):
                peer = self._address(item.name, item.incarnation)
                self._recorder.append(
                    Event(Kind.NOTICE, now_ns, peer=peer, value=item.seq, detail={"what": item.cause})
                )
            elif item.incarnation:  # Else it was recorded when it was dequeued the first time.
                self._recorder.append(self._dequeue_event(item, now_ns))
                self._dequeued += len(item.payloads)
        return items

    def _dequeue_event(self, run: Run, now_ns: int) -> Event:
        return Event(
            Kind.DEQUEUE,
            now_ns,
            peer=self._address(run.sender, run.incarnation),
            first=run.first,
            count=len(run.payloads),
            ordinal=self._dequeued,
            value=run.seq,
        )

    def _address(self, name: str, incarnation: int) -> Address:
        return Address(name, incarnation, self._endpoint)

    def _refuse_idle(self, timeout: float | None, /) -> NoReturn:
        self._inner._refuse_idle(timeout)

    def _place(self) -> int:
        return self._inner._place()

    def _last_number(self) -> int:
        return self._inner._last_number()

    def _queue_barrier(self) -> int:
        return self._inner._queue_barrier()

    def _take_to_barrier(self, timeout: float | None, /) -> list[Run | PeerLeft]:
        with self._step:
            taken = self._recorded(self._inner._take_to_barrier(0))
        if not taken and timeout != 0:
            self._inner._wait_for_mail(timeout)
        return taken

    def _barrier_passed(self) -> int:
        return self._inner._barrier_passed()

    def _give_back(self, items: list[Message | PeerLeft], /) -> None:
        self._inner._give_back(items)

    def _arm_mail(self) -> None:
        self._inner._arm_mail()

    def _arm_room(self) -> None:
        self._inner._arm_room()

    def _watch(self, send_waits: bool, /) -> None:
        self._inner._watch(send_waits)

    def _wait_for_mail(self, timeout: float | None, /) -> None:
        self._inner._wait_for_mail(timeout)

    def _wait_for_room(self, timeout: float | None, /) -> None:
        self._inner._wait_for_room(timeout)

    def _wait_for_change(self, timeout: float | None, /) -> None:
        self._inner._wait_for_change(timeout)

    def _bell(self) -> Doorbell:
        return self._inner._bell()
