"""Counts that every member holds, by key; behind a partition the merge adds up what every side has counted.

A count is kept as the shares of those who counted: each adds to its own share only, in its own order, so of two sides
the one that has seen more of a member's additions is right about that member, and nothing is counted twice or lost.

Processes come and go, so shares of members that will add no more are *folded*: added to one amount for each key.
- With `partition="primary"` a member that is not in a primary view is folded at once: all additions are in one chain of
  views, and of sides that meet the one with the later primary view has them all. Who comes back begins a new share.
- Else only a member that certainly ended is folded: one that left in good order, or whose endpoint has a newer
  incarnation. Another side may know more of its additions, or fewer, so its share stays to be compared until there are
  MOST_ENDED of those; then the oldest are folded, and a side that did not see this is refused: the states stay apart.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec

from ringcast import Address, UsageError, View
from ringcast.blocks.block import Sides, words_of
from ringcast.blocks.errors import Apart
from ringcast.blocks.ordered import OrderedBlock
from ringcast.blocks.tokens import BEFORE, Token

K = TypeVar("K", bound=Hashable)

MOST_SHARES = 65_536  # of all keys and all who count; `reset` makes room
MOST_ENDED = 16_384  # of them, of members that ended and are not folded yet
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
    folded: list[tuple[K, int]] = []
    ended: list[Address] = []
    folded_at: Token = BEFORE  # the last time that ended members were folded
    primary: int = 0  # the number of the last primary view, with that policy


class ReplicatedCounter(OrderedBlock, Mapping[K, int], Generic[K]):
    """A mapping from keys to counts; what was never counted is 0."""

    def __init__(self, name: str, key: type[K]) -> None:
        super().__init__(name)
        self.kind = f"counter of {words_of(key)}, folding"
        self._shares: dict[K, dict[Address, Share]] = {}
        self._totals: dict[K, int] = {}
        self._count = 0  # shares
        self._folded: dict[K, int] = {}
        self._over: dict[Address, None] = {}  # they add no more; in the order in which that was known
        self._folded_at = BEFORE
        self._primary = 0
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
            self._folded, self._over, self._folded_at = {}, {}, BEFORE
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
        self._totals = dict(self._folded)
        for key, shared in self._shares.items():
            self._totals[key] = self._totals.get(key, 0) + sum(share.amount for share in shared.values())
        self._count = sum(map(len, self._shares.values()))

    async def _cut(self) -> bytes:
        shares = [(key, list(found.items())) for key, found in self._shares.items()]
        folded, ended = list(self._folded.items()), list(self._over)
        return _encode(_State(self._version, self._reset, shares, folded, ended, self._folded_at, self._primary))

    async def _load(self, state: bytes) -> None:
        found = self._states.decode(state)
        self._version = found.version
        self._folded, self._over = dict(found.folded), dict.fromkeys(found.ended)
        self._folded_at, self._primary = found.folded_at, found.primary
        self._fill(found.shares, found.reset)

    def _merge(self, sides: Sides) -> bytes:
        states = [self._states.decode(state) for state in sides.values()]
        version, primary = max(state.version for state in states), max(state.primary for state in states)
        # Additions are done on the primary side alone: whoever holds an older primary view has nothing that it lacks.
        states = [state for state in states if state.primary == primary]
        reset = max(state.reset for state in states)
        states = [state for state in states if state.reset == reset]
        last = max(states, key=lambda state: state.folded_at)
        if any(state.folded_at != last.folded_at for state in states):
            raise Apart(
                f"a side was away while {self.name!r} folded the counts of members that had ended, more than "
                f"{MOST_ENDED} shares: what both sides knew cannot be told apart any more"
            )
        merged: dict[K, dict[Address, Share]] = {}
        for state in states:
            for key, shares in state.shares:
                known = merged.setdefault(key, {})
                for member, share in shares:
                    known[member] = max(share, known.get(member, share))
        ended = list(dict.fromkeys(member for state in states for member in state.ended))
        kept = [(key, list(found.items())) for key, found in merged.items()]
        return _encode(_State(version, reset, kept, last.folded, ended, last.folded_at, primary))

    # ---- members that add no more

    def _on_view(self, view: View) -> None:
        """Take a view into account once: the state that is cut at it has that already."""
        is_new = view.id.number > self._version.view
        super()._on_view(view)
        if is_new and view.mark is None:
            self._note_ended(view)
        elif is_new and view.is_primary and not view.is_merge:  # Behind a merge the state of the primary side comes.
            self._primary = view.id.number
            self._fold([member for member in self._members() if member not in view])

    def _note_ended(self, view: View) -> None:
        newest = {member.endpoint: member.incarnation for member in view.members}
        for member in self._members():
            is_over = newest.get(member.endpoint, member.incarnation) > member.incarnation
            if member not in view and (is_over or member in view.left):
                self._over[member] = None
        counts = self._members()
        kept = sum(counts.get(member, 0) for member in self._over)
        going: list[Address] = []
        while kept > MOST_ENDED:
            going.append(next(iter(self._over)))
            del self._over[going[-1]]
            kept -= counts.get(going[-1], 0)
        if going:
            self._fold(going)
            self._folded_at = self._version

    def _members(self) -> dict[Address, int]:
        """Count the shares of each incarnation."""
        counts: dict[Address, int] = {}
        for shares in self._shares.values():
            for member in shares:
                counts[member] = counts.get(member, 0) + 1
        return counts

    def _fold(self, members: list[Address]) -> None:
        for key, shares in list(self._shares.items()):
            for member in [member for member in members if member in shares]:
                self._folded[key] = self._folded.get(key, 0) + shares.pop(member).amount
                self._count -= 1
            if not shares:
                del self._shares[key]
