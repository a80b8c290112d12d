"""What was dequeued for the application and not read yet, and how far it has read in the one order.

While it is at its bound, this member does not ack new messages as staged: they get no place, their senders wait. That
is the back-pressure of the order; what is already staged can always be read, so it never waits for itself.
"""

from __future__ import annotations

from ringcast.order import Stamp


class Backlog:
    def __init__(self) -> None:
        self.count = 0
        self.spooled = 0  # in a joiner's spool: no longer counted above, and not read yet
        self.nbytes = 0
        self.read = Stamp(0, 0)  # the last that was read

    def add(self, count: int, nbytes: int) -> None:
        self.count += count
        self.nbytes += nbytes

    def take(self, count: int, nbytes: int, stamp: Stamp) -> None:
        self.count -= count
        self.nbytes -= nbytes
        self.read = max(self.read, stamp)  # a part of a batch has none

    def spool(self, count: int, nbytes: int) -> None:
        self.count -= count
        self.nbytes -= nbytes
        self.spooled += count

    def take_spooled(self, count: int, stamp: Stamp) -> None:
        self.spooled -= count
        self.read = max(self.read, stamp)

    def is_full(self, capacity: int, nbytes: int) -> bool:
        return self.count >= capacity or self.nbytes >= nbytes
