"""A send window, an ack map and receive windows together, over links that lose, repeat and reorder.

The smallest possible protocol around the real windows: whatever the links do, no receiver ever drops what a
sender within its credit sent for lack of a slot (G2), everybody delivers everything in order (G1), and a message
is purged only when all have it (G3).
"""

from __future__ import annotations

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from ringcast.window import AckMap, ReceiveWindow, SendWindow

Packet = tuple[int, int, list[int]]  # first, the sender's low, items

TOTAL = 30
STEPS = 10_000  # some hundred are usual; the rest is for capacity 1 and bad luck


class Exchange:
    """One sender, some receivers, one list of packets in flight to each."""

    def __init__(self, random: Random, capacity: int, receivers: int, retain: bool) -> None:
        self.random = random
        self.sender: SendWindow[int] = SendWindow(capacity, 10**9)
        self.acks = AckMap(dict.fromkeys(range(receivers), 0))
        self.receivers: list[ReceiveWindow[int]] = [ReceiveWindow(capacity, 0, retain) for _ in range(receivers)]
        self.delivered: list[list[int]] = [[] for _ in range(receivers)]
        self.in_flight: list[list[Packet]] = [[] for _ in range(receivers)]

    def send(self, _: int) -> None:
        count = min(self.random.randint(1, 5), self.sender.space.slots, TOTAL - self.sender.high)
        if count > 0:
            first = self.sender.add_run([self.sender.high + 1 + at for at in range(count)], count)
            self.multicast(first, self.sender.get_run(first, self.sender.high))

    def multicast(self, first: int, items: list[int]) -> None:
        for link in self.in_flight:
            for _ in range(self.random.choice((0, 1, 1, 1, 2))):
                link.insert(self.random.randint(0, len(link)), (first, self.sender.low, items))

    def arrive(self, who: int) -> None:
        if self.in_flight[who]:
            first, low, items = self.in_flight[who].pop(self.random.randrange(len(self.in_flight[who])))
            window = self.receivers[who]
            window.advance_stable(low)
            assert window.add_run(first, items).beyond == 0 and not window.is_orphaned

    def read(self, who: int) -> None:
        window = self.receivers[who]
        self.delivered[who] += window.take_ready()[1]
        window.mark_taken(self.random.randint(window.taken, window.handed))

    def repair(self, who: int) -> None:
        """An announcement carries the low too: when all data is lost, nothing else opens the window again."""
        window = self.receivers[who]
        window.advance_stable(self.sender.low)
        window.note_highest(self.sender.high)
        for first, last in window.missing(3, 8):
            self.multicast(first, self.sender.get_run(first, last))

    def ack(self, who: int) -> None:
        if self.acks.on_ack(who, self.receivers[who].taken):
            self.sender.purge(self.acks.minimum)

    def check(self) -> None:
        self.sender.check()
        self.acks.check()
        for window, delivered in zip(self.receivers, self.delivered, strict=True):
            window.check()
            assert self.sender.low <= window.taken
            assert delivered == list(range(1, window.handed + 1))

    def step(self) -> None:
        who = self.random.randrange(len(self.receivers))
        self.random.choice((self.send, self.arrive, self.arrive, self.read, self.repair, self.ack))(who)
        self.check()


@given(st.integers(0, 2**32), st.integers(1, 9), st.integers(1, 3), st.booleans())
def test_whatever_the_links_do_everybody_delivers_everything(
    seed: int, capacity: int, receivers: int, retain: bool
) -> None:
    exchange = Exchange(Random(f"exchange {seed}"), capacity, receivers, retain)
    for _ in range(STEPS):
        if exchange.sender.low == TOTAL:
            break
        exchange.step()
    assert exchange.delivered == [list(range(1, TOTAL + 1))] * receivers
