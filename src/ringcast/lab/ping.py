"""Round trips between two members: at a rate, or in a closed loop.

At a rate, pings leave whatever became of the earlier ones; a ping that had to wait counts from its intended time, so a
stall shows in every ping it delayed (no coordinated omission). The sender spins between pings, because a timer of the
event loop is coarser than a round trip. In a closed loop each ping leaves when the answer to the one before was read.
"""

from __future__ import annotations

import asyncio
import struct
import time
from dataclasses import dataclass
from typing import Any

from ringcast.errors import TransportError
from ringcast.model import Address, Batch
from ringcast.runtime import Group

PING = b"\x01ping"
PONG = b"\x02pong"
_STAMP = struct.Struct("<q")
_AT = slice(len(PING), len(PING) + _STAMP.size)


class Pinger:
    """Sends pings, answers those of others, and keeps the times of its own."""

    def __init__(self, group: Group, private: bool) -> None:
        self._group = group
        self._private = private
        self.round_trips_ns: list[int] = []
        self._in_turn: InTurn | None = None

    def concerns(self, batch: Batch) -> bool:
        return batch.payloads[0].startswith((PING, PONG))

    async def take(self, batch: Batch) -> None:
        for payload in batch.payloads:
            if payload.startswith(PING):
                to = [batch.sender] if self._private else None
                await self._group.send(PONG + payload[len(PING) :], to=to)
            elif payload.startswith(PONG):
                self.round_trips_ns.append(time.monotonic_ns() - _STAMP.unpack(payload[_AT])[0])
                if self._in_turn is not None:
                    await self._ping_next(self._in_turn)

    async def ping(self, rate: float, seconds: float, size: int) -> None:
        """One ping every 1/rate seconds to the other members, then wait for the last answers."""
        to = self._to()
        padding = b"*" * max(0, size - len(PING) - _STAMP.size)
        count, gap_ns = int(rate * seconds), int(1e9 / rate)
        due = time.monotonic_ns()
        for _ in range(count):
            while time.monotonic_ns() < due:  # noqa: ASYNC110
                await asyncio.sleep(0)
            await self._group.send(PING + _STAMP.pack(due) + padding, to=to)
            due += gap_ns
        while len(self.round_trips_ns) < count:  # noqa: ASYNC110  the caller's limit ends a wait in vain
            await asyncio.sleep(0.001)

    async def ping_in_turn(self, seconds: float, size: int) -> None:
        """One ping after the other, each when the answer to the one before was read."""
        padding = b"*" * max(0, size - len(PING) - _STAMP.size)
        over = asyncio.get_running_loop().create_future()
        self._in_turn = InTurn(padding, self._to(), time.monotonic_ns() + int(seconds * 1e9), over)
        await self._ping_next(self._in_turn)
        await over

    async def _ping_next(self, turn: InTurn) -> None:
        now = time.monotonic_ns()
        if now < turn.until_ns:
            await self._group.send(PING + _STAMP.pack(now) + turn.padding, to=turn.to)
        else:
            self._in_turn = None
            turn.over.set_result(None)

    def _to(self) -> list[Address] | None:
        others = [member for member in self._group.members if member != self._group.me]
        return others[:1] if self._private else None


PERMILLE = {"p50": 500, "p99": 990, "p999": 999}


@dataclass(frozen=True, slots=True)
class InTurn:
    """A closed loop that runs."""

    padding: bytes
    to: list[Address] | None
    until_ns: int
    over: asyncio.Future[None]


def percentiles_us(round_trips_ns: list[int]) -> dict[str, Any]:
    """p50, p99, p99.9 and the maximum: the smallest that so many do not exceed."""
    ordered = sorted(round_trips_ns)
    count = len(ordered)
    if not count:
        raise TransportError("no message came back")
    return {
        "count": count,
        **{f"{name}_us": ordered[-(-count * share // 1000) - 1] / 1e3 for name, share in PERMILLE.items()},
        "max_us": ordered[-1] / 1e3,
    }
