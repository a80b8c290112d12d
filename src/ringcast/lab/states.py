"""Applications with a state, for members under remote control: one keeps every message, one is merely large.

Both are checked from outside by what `summary` tells: equal summaries mean equal states.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Mapping
from typing import Any, Protocol

import msgspec

from ringcast.model import Address, Batch

CHUNK_BYTES = 50_000


class Holder(Protocol):
    """An application that gives and takes its state."""

    def get_state(self) -> AsyncIterator[bytes]: ...

    async def set_state(self, chunks: AsyncIterator[bytes]) -> None: ...

    def take(self, batch: Batch) -> None: ...

    def summary(self) -> dict[str, Any]: ...


class History:
    """Every message of every sender, in the order in which that sender sent them; two sides' histories become one."""

    def __init__(self, seconds: float = 0.0) -> None:
        self.seconds = seconds  # that loading takes
        self.entries: dict[str, list[bytes]] = {}
        self.loads = 0
        self.merges = 0

    async def get_state(self) -> AsyncIterator[bytes]:
        state = msgspec.msgpack.encode(self.entries)
        for at in range(0, len(state), CHUNK_BYTES):
            yield state[at : at + CHUNK_BYTES]

    async def set_state(self, chunks: AsyncIterator[bytes]) -> None:
        self.loads += 1
        state = b"".join([chunk async for chunk in chunks])
        await asyncio.sleep(self.seconds)
        self.entries = msgspec.msgpack.decode(state, type=dict[str, list[bytes]])

    def merge_state(self, states: Mapping[tuple[Address, ...], bytes]) -> bytes:
        """Of each sender the longest: the side on which it was has all of it, the other one the beginning."""
        self.merges += 1
        merged: dict[str, list[bytes]] = {}
        for state in states.values():
            for name, said in msgspec.msgpack.decode(state, type=dict[str, list[bytes]]).items():
                merged[name] = max(merged.get(name, []), said, key=len)
        return msgspec.msgpack.encode(merged)

    def take(self, batch: Batch) -> None:
        self.entries.setdefault(batch.sender.name, []).extend(batch.payloads)

    def summary(self) -> dict[str, Any]:
        digests = {name: hashlib.sha256(b"\n".join(said)).hexdigest() for name, said in self.entries.items()}
        counts = {name: len(said) for name, said in self.entries.items()}
        return {"counts": counts, "digests": digests, "loads": self.loads, "merges": self.merges}


class Bulk:
    """So many megabytes, made while they are given and checked while they are got; none of it is kept."""

    def __init__(self, megabytes: int) -> None:
        self.megabytes = megabytes
        self.got = 0
        self.is_right = True

    async def get_state(self) -> AsyncIterator[bytes]:
        for number in range(self.megabytes * 1_000_000 // CHUNK_BYTES):
            yield _block(number)

    async def set_state(self, chunks: AsyncIterator[bytes]) -> None:
        self.got = 0
        rest = b""
        async for chunk in chunks:
            rest += chunk
            while len(rest) >= CHUNK_BYTES:
                self.is_right = self.is_right and rest[:CHUNK_BYTES] == _block(self.got // CHUNK_BYTES)
                self.got += CHUNK_BYTES
                rest = rest[CHUNK_BYTES:]

    def take(self, batch: Batch) -> None:
        pass

    def summary(self) -> dict[str, Any]:
        return {"got": self.got, "is_right": self.is_right}


def _block(number: int) -> bytes:
    return number.to_bytes(8, "little") * (CHUNK_BYTES // 8)


def holder_of(order: dict[str, Any]) -> Holder:
    """The application of an order: {"kind": "history", "seconds": s} or {"kind": "bulk", "megabytes": n}."""
    return History(order.get("seconds", 0.0)) if order["kind"] == "history" else Bulk(order["megabytes"])
