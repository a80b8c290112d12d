"""Counts that every member holds, by key; behind a partition the merge adds up what every side has counted.

A count is kept as the shares of those who counted: each adds to its own share only, in its own order, so of two sides
the one that has seen more of a member's additions is right about that member, and nothing is counted twice or lost.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec

from ringcast import Address, UsageError
from ringcast.blocks.block import Sides, words_of
from ringcast.blocks.ordered import OrderedBlock
from ringcast.blocks.tokens import BEFORE, Token

K = TypeVar("K", bound=Hashable)

MOST_SHARES = 65_536  # of all keys and all who ever counted; `reset` makes room
MOST_AMOUNT = 2**63 - 1  # of one share, up or down: what a state can carry

_encode = msgspec.msgpack.Encoder().encode


class Share(NamedTuple):
    """What one member has added: in how many additions, and how much."""

    additions: int
    amount: int


class _Add(msgspec.Struct, Generic[K], array_like=True, tag=0):
    key: K
    amount: int


class _Reset(msgspec.Struct, array_like=True, tag=1):
    pass


class _State(msgspec.Struct, Generic[K], array_like=True):
    version: Token
    reset: Token
    shares: list[tuple[K, list[tuple[Address, Share]]]]


class ReplicatedCounter(OrderedBlock, Mapping[K, int], Generic[K]):
    """A mapping from keys to counts; what was never counted is 0."""

    def __init__(self, name: str, key: type[K]) -> None:
        super().__init__(name)
        self.kind = f"counter of {words_of(key)}"
        self._shares: dict[K, dict[Address, Share]] = {}
        self._totals: dict[K, int] = {}
        self._count = 0  # shares
        self._reset = BEFORE  # version of the last reset
        op: Any = _Add[key] | _Reset  # type: ignore[valid-type]
        self._ops = msgspec.msgpack.Decoder(op)
        state: Any = _State[key]  # type: ignore[valid-type]
        self._states: msgspec.msgpack.Decoder[_State[K]] = msgspec.msgpack.Decoder(state)

    # ---- reading, here

    def __getitem__(self, key: K) -> int:
        return self._totals.get(key, 0)

    def __iter__(self) -> Iterator[K]:
        return iter(self._totals)

    def __len__(self) -> int:
        return len(self._totals)

    def __repr__(self) -> str:
        return f"ReplicatedCounter({self.name!r}, {self._totals!r})"

    __hash__ = object.__hash__

    # ---- counting, everywhere

    async def add(self, key: K, amount: int = 1, *, timeout: float | None = None) -> int:
        """Returns when it was applied here, with the count behind it in the one order of all."""
        return int(await self._do(self._raw(_Add(key, amount)), timeout))

    async def reset(self, *, timeout: float | None = None) -> None:
        """Everything to 0, everywhere; a side of a partition that did not know of it loses its counts in the merge."""
        await self._do(_encode(_Reset()), timeout)

    # ---- applying

    def _keys_of(self, op: Any) -> Iterable[object]:
        return () if isinstance(op, _Reset) else (op.key,)

    def _may_apply_apart(self, op: Any) -> bool:
        return isinstance(op, _Reset)

    def _apply(self, op: Any, sender: Address, version: Token) -> object:
        if isinstance(op, _Reset):
            self._why_apart = None
            self._fill([], version)
            return None
        shares = self._shares.get(op.key, {})
        additions, amount = shares.get(sender, (0, 0))
        if abs(amount + op.amount) > MOST_AMOUNT:
            return UsageError(f"{sender} has counted {amount} of {op.key!r}, with {op.amount} it were more than fits")
        if sender not in shares:
            if self._count >= MOST_SHARES:
                return UsageError(f"{self.name!r} keeps {self._count} shares, that is the most: reset it")
            self._count += 1
            self._shares[op.key] = shares
        shares[sender] = Share(additions + 1, amount + op.amount)
        total = self._totals[op.key] = self._totals.get(op.key, 0) + op.amount
        return total

    # ---- state

    def _fill(self, shares: list[tuple[K, list[tuple[Address, Share]]]], reset: Token) -> None:
        self._reset = reset
        self._shares = {key: dict(found) for key, found in shares}
        self._totals = {key: sum(share.amount for share in found.values()) for key, found in self._shares.items()}
        self._count = sum(map(len, self._shares.values()))

    async def _cut(self) -> bytes:
        shares = [(key, list(found.items())) for key, found in self._shares.items()]
        return _encode(_State(self._version, self._reset, shares))

    async def _load(self, state: bytes) -> None:
        found = self._states.decode(state)
        self._version = found.version
        self._fill(found.shares, found.reset)

    def _merge(self, sides: Sides) -> bytes:
        states = [self._states.decode(state) for state in sides.values()]
        reset = max(state.reset for state in states)
        merged: dict[K, dict[Address, Share]] = {}
        for state in states:
            if state.reset == reset:
                for key, shares in state.shares:
                    known = merged.setdefault(key, {})
                    for member, share in shares:
                        known[member] = max(share, known.get(member, share))
        version = max(state.version for state in states)
        return _encode(_State(version, reset, [(key, list(shares.items())) for key, shares in merged.items()]))
