"""One process of the pyzmq comparison: `python -m ringcast.bench.zmq_member '{"sends": true, …}'`.

It prints where it publishes, reads where the others publish, runs, and prints what it sent and received.
Publishers wait for all subscribers before the first message and block instead of dropping (XPUB with NODROP), so every
message sent is received; each publisher ends with a message that says how many there were, and receivers compare.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from typing import Any

import zmq

END = b"end:"
_PER_TURN = 64
_AT_ONCE = 100_000  # receipts between two looks at whether all is there
_PATIENCE_MS = 30_000
_QUEUE_BYTES = 16 << 20


@dataclass(frozen=True, slots=True)
class Role:
    """What one process does. `parts` > 1 sends so many messages as the parts of one multipart message.

    `form` is "bare" here; "user" and "user asyncio" are in zmq_user.py, whose payloads say the `number` of the sender.
    """

    publishes_at: str | None
    receives: bool
    subscribers: int
    size: int
    parts: int
    seconds: float
    form: str = "bare"
    number: int = 0

    @property
    def high_water(self) -> int:
        """Queue length in sends: bounded in bytes, so that the process stays small and nothing is dropped."""
        return max(8, min(100_000, _QUEUE_BYTES // (self.size * self.parts)))


@dataclass(slots=True)
class Tally:
    """What a process saw. `expected` is what the publishers said they sent."""

    sent: int = 0
    received: int = 0
    expected: int = 0
    ends: int = 0
    first_ns: int = 0
    last_ns: int = 0

    def take_all(self, receive: Callable[[], list[bytes]], most: int, ends: int) -> None:
        """At most so many receipts, or until so many ends. The loop is bare: the competitor's time is not ours."""
        received = 0
        try:
            for _ in range(most):
                parts = receive()
                if parts[0].startswith(END):
                    self.ends += 1
                    self.expected += int(parts[0][len(END) :])
                    if self.ends >= ends:
                        break
                else:
                    if not self.first_ns:
                        self.first_ns = time.monotonic_ns()
                    received += len(parts)
        finally:
            if received:
                self.received += received
                self.last_ns = time.monotonic_ns()


@dataclass(slots=True)
class Publisher:
    """Sends for so many seconds from its first send on."""

    socket: zmq.Socket[bytes]
    role: Role
    tally: Tally
    is_done: bool = False
    _until: float = 0.0
    _message: list[bytes] = field(default_factory=list)

    def await_subscribers(self) -> None:
        for _ in range(self.role.subscribers):
            self.socket.recv()
        self._message = [bytes(self.role.size)] * self.role.parts
        self._until = time.monotonic() + self.role.seconds

    def send_some(self, flags: int) -> bool:
        """A few messages, or the end; False if nothing was taken."""
        parts, taken = self.role.parts, 0
        payload: Any = self._message if parts > 1 else self._message[0]
        send: Callable[[Any, int], Any] = self.socket.send_multipart if parts > 1 else self.socket.send
        try:
            if time.monotonic() >= self._until:
                self.socket.send(END + b"%d" % self.tally.sent, flags)
                self.is_done = True
                return True
            for _ in range(_PER_TURN):
                send(payload, flags)
                taken += parts
        except zmq.Again:
            return taken > 0
        finally:
            self.tally.sent += taken
        return True


def receive_only(socket: zmq.Socket[bytes], parts: int, publishers: int, tally: Tally) -> None:
    while tally.ends < publishers:
        tally.take_all(_receiver(socket, 0, parts), _AT_ONCE, publishers)


def _receiver(socket: zmq.Socket[bytes], flags: int, parts: int) -> Callable[[], list[bytes]]:
    """The cheapest call that fits: a message of one part needs no list of parts from pyzmq."""
    if parts > 1:
        return lambda: socket.recv_multipart(flags)
    receive = socket.recv
    return lambda: [receive(flags)]


def send_only(publisher: Publisher) -> None:
    while not publisher.is_done:
        if not publisher.send_some(0):
            sys.exit("nobody took anything for too long")


def take_turns(publisher: Publisher, socket: zmq.Socket[bytes], publishers: int, tally: Tally) -> None:
    while not publisher.is_done or tally.ends < publishers:
        went = not publisher.is_done and publisher.send_some(zmq.NOBLOCK)
        came = take_some(socket, publisher.role.parts, publishers, tally)
        if went or came:
            continue
        if not socket.poll(_PATIENCE_MS if publisher.is_done else 1) and publisher.is_done:
            sys.exit("nothing came for too long")


def take_some(socket: zmq.Socket[bytes], parts: int, publishers: int, tally: Tally) -> bool:
    before = tally.received + tally.ends
    with suppress(zmq.Again):
        tally.take_all(_receiver(socket, zmq.NOBLOCK, parts), _PER_TURN, publishers)
    return tally.received + tally.ends > before


def run(role: Role) -> Tally:
    context, tally = zmq.Context(), Tally()
    publisher = None if role.publishes_at is None else Publisher(publisher_socket(context, role), role, tally)
    bound = publisher.socket.getsockopt(zmq.LAST_ENDPOINT) if publisher else None
    print(json.dumps(bound.decode().rstrip("\0") if isinstance(bound, bytes) else None), flush=True)
    others: list[str] = json.loads(sys.stdin.readline())
    subscriber = subscriber_socket(context, role, others)
    if publisher:
        publisher.await_subscribers()
    if publisher and role.receives:
        take_turns(publisher, subscriber, len(others), tally)
    elif publisher:
        send_only(publisher)
    else:
        receive_only(subscriber, role.parts, len(others), tally)
    print(json.dumps(asdict(tally)), flush=True)
    sys.stdin.readline()  # what is still in our queue must leave before we do
    context.destroy(linger=0)
    return tally


def publisher_socket(context: zmq.Context[Any], role: Role) -> zmq.Socket[bytes]:
    assert role.publishes_at is not None
    socket: zmq.Socket[bytes] = context.socket(zmq.XPUB)
    socket.setsockopt(zmq.SNDHWM, role.high_water)
    socket.setsockopt(zmq.XPUB_NODROP, 1)
    socket.setsockopt(zmq.XPUB_VERBOSE, 1)  # tell of every subscriber, also of the same subscription again
    socket.setsockopt(zmq.RCVTIMEO, _PATIENCE_MS)
    socket.setsockopt(zmq.SNDTIMEO, _PATIENCE_MS)
    socket.bind(role.publishes_at)
    return socket


def subscriber_socket(context: zmq.Context[Any], role: Role, publishers: list[str]) -> zmq.Socket[bytes]:
    socket: zmq.Socket[bytes] = context.socket(zmq.SUB)
    socket.setsockopt(zmq.RCVHWM, role.high_water)
    socket.setsockopt(zmq.RCVTIMEO, _PATIENCE_MS)
    if role.receives:
        socket.setsockopt(zmq.SUBSCRIBE, b"")
        for endpoint in publishers:
            socket.connect(endpoint)
    return socket


if __name__ == "__main__":
    run(Role(**json.loads(sys.argv[1])))
