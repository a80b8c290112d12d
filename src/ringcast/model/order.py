"""Which order a sender asks for: its own only, or one order for everybody."""

from __future__ import annotations

from enum import Enum


class Order(Enum):
    FIFO = "fifo"  # each sender's messages in its order
    TOTAL = "total"  # all of them in one order, whoever sent them (seed 002)

    def __repr__(self) -> str:
        return self.name


TOTAL = Order.TOTAL
