"""What an application of the user's form does with each message, the same for ringcast and for those beside it.

Payloads are fresh and numbered; the body of the reading loop counts them and compares their length. Now and then it
looks at the number, so a stream that lost, repeated or mixed up messages does not pass. Each sender ends with a message
of another length that says how many there were.
"""

from __future__ import annotations

import resource
import time
from dataclasses import dataclass, field

NUMBER_BYTES = 8
LOOK_EVERY = 1_024  # messages between two looks at the number
AT_ONCE = 64  # sends between two looks at the clock


@dataclass(slots=True)
class Body:
    """One receiver. `messages` is counted by the loop itself, which is what is measured."""

    size: int
    senders: int
    messages: int = 0
    wrong: int = 0
    ends: int = 0
    expected: int = 0
    first_ns: int = 0
    last_ns: int = 0
    next_look: int = 1
    _highest: dict[object, int] = field(default_factory=dict)

    def look(self, sender: object, payload: bytes, messages: int) -> int:
        """At the first message, and now and then: is it behind what came from this sender before? When to look next.

        `sender` None: it is not known. Then only the number of a single sender's message says anything.
        """
        if not self.first_ns:
            self.first_ns = time.monotonic_ns()
        if self.size >= NUMBER_BYTES and (self.senders == 1 or sender is not None):
            number = int.from_bytes(payload[:NUMBER_BYTES], "little")
            highest = messages - 1 if self.senders == 1 else number
            self.wrong += number != highest or number <= self._highest.get(sender, -1)
            self._highest[sender] = number
        self.next_look = messages + LOOK_EVERY
        return self.next_look

    def take_odd(self, payload: bytes) -> bool:
        """A message of another length: an end, or a mistake. Was it the last end?"""
        if len(payload) != end_bytes(self.size):
            self.wrong += 1
            return False
        self.ends += 1
        self.expected += int.from_bytes(payload[:NUMBER_BYTES], "little")
        if self.ends < self.senders:
            return False
        self.last_ns = time.monotonic_ns()
        return True

    @property
    def is_complete(self) -> bool:
        return self.ends == self.senders and self.messages == self.expected and not self.wrong


def end_bytes(size: int) -> int:
    return NUMBER_BYTES + (1 if size == NUMBER_BYTES else 0)


def end_of(sent: int, size: int) -> bytes:
    return sent.to_bytes(end_bytes(size), "little")


@dataclass(frozen=True, slots=True)
class Numbers:
    """How fresh payloads are made: the number in front, as much of it as fits, and the rest filled up.

    The first byte of the rest says who sends, for receivers that are not told by what they receive with.
    """

    most: int
    head: int
    padding: bytes

    @classmethod
    def of(cls, size: int, sender: int = 0) -> Numbers:
        head = min(size, NUMBER_BYTES)
        return cls(256**head, head, (bytes([sender % 256]) + bytes(size))[: size - head])


def sender_in(payload: bytes) -> int | None:
    """Who sent it; None if the payload has no room to say so."""
    return payload[NUMBER_BYTES] if len(payload) > NUMBER_BYTES else None


def cpu_seconds() -> float:
    """What this process has spent so far."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime
