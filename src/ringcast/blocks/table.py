"""The table behind the replicated dictionary and the set: entries by key, operations on them, merges, change feeds.

What an operation does is decided when it is applied, in the one order of all: a comparison sees what everybody sees
there, a fencing token is compared with the newest that was seen for its key.
Invariant: a key has an entry or a grave, never both.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any, Generic, TypeVar

import msgspec

from ringcast import Address, RingcastError, UsageError
from ringcast.blocks.block import Sides, words_of
from ringcast.blocks.changes import Change, Changes
from ringcast.blocks.errors import StaleToken
from ringcast.blocks.merging import RULES, Entry, Grave, MergeRule, Side, mark_of, merge_sides
from ringcast.blocks.ordered import OrderedBlock
from ringcast.blocks.tokens import BEFORE, Token

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

GRAVES = 10_000  # deleted keys that are remembered for merges

_encode = msgspec.msgpack.Encoder().encode


class Set(msgspec.Struct, Generic[K, V], array_like=True, tag=0):
    items: list[tuple[K, V]]
    fence: Token | None = None


class Delete(msgspec.Struct, Generic[K], array_like=True, tag=1):
    key: K
    fence: Token | None = None


class Swap(msgspec.Struct, Generic[K, V], array_like=True, tag=2):
    """One value or none: what must be there, and what shall be."""

    key: K
    expected: list[V]
    new: list[V]
    fence: Token | None = None


class Replace(msgspec.Struct, Generic[K, V], array_like=True, tag=3):
    """`fences`: the tokens that count behind it, if it ends being apart."""

    items: list[tuple[K, V]]
    fences: list[tuple[K, Token]] = []


class _State(msgspec.Struct, Generic[K, V], array_like=True):
    version: Token
    entries: list[tuple[K, Entry[V]]]
    graves: list[tuple[K, Grave]]


class Table(OrderedBlock, Generic[K, V]):
    """`merge` is the rule by which the sides of a partition become one."""

    def __init__(
        self, name: str, key: type[K], value: type[V], *, kind: str, merge: MergeRule[K, V], graves: int = GRAVES
    ) -> None:
        super().__init__(name)
        if not callable(merge) and merge not in RULES:
            raise UsageError(f"merge must be one of {', '.join(RULES)} or a function, got {merge!r}")
        types = words_of(key) if kind == "set" else f"{words_of(key)} to {words_of(value)}"
        self.kind = f"{kind} of {types}, merged by {'a function' if callable(merge) else merge}"
        self._rule = merge
        self._most_graves = graves
        self._entries: dict[K, Entry[V]] = {}
        self._graves: dict[K, Grave] = {}
        self._feeds: list[Changes[K, V]] = []
        op: Any = Set[key, value] | Delete[key] | Swap[key, value] | Replace[key, value]  # type: ignore[valid-type]
        self._ops = msgspec.msgpack.Decoder(op)
        state: Any = _State[key, value]  # type: ignore[valid-type]
        self._states: msgspec.msgpack.Decoder[_State[K, V]] = msgspec.msgpack.Decoder(state)

    def changes(self) -> Changes[K, V]:
        """What changes from now on; a slow reader gets the last value of each key, not each value in between."""
        feed = Changes[K, V](self._forget)
        self._feeds.append(feed)
        if self._ended is not None:
            feed.end()
        return feed

    def _forget(self, feed: Changes[K, V]) -> None:
        if feed in self._feeds:
            self._feeds.remove(feed)

    async def _write(self, op: msgspec.Struct, timeout: float | None) -> Any:
        return await self._do(self._raw(op), timeout)

    async def _write_all(self, items: Iterable[tuple[K, V]], timeout: float | None) -> None:
        """In place of everything. Where the sides stay apart, the tokens that this one has seen go with it."""
        fences: list[tuple[K, Token]] = []
        if self._why_apart is not None:
            fences = [(key, fence) for key in (*self._entries, *self._graves) if (fence := self._fence_of(key))]
        await self._write(Replace(list(items), fences), timeout)

    # ---- applying

    def _keys_of(self, op: Any) -> Iterable[object]:
        if isinstance(op, Replace):
            return [key for key, _ in (*op.items, *op.fences)]
        return [key for key, _ in op.items] if isinstance(op, Set) else (op.key,)

    def _may_apply_apart(self, op: Any) -> bool:
        return isinstance(op, Replace)

    def _apply(self, op: Any, sender: Address, version: Token) -> object:
        if type(op) is Set and op.fence is None:
            for key, value in op.items:
                self._put(key, value, version, None, sender)
            return None
        if isinstance(op, Replace):
            wanted = dict(op.items)
            for key in [key for key in self._entries if key not in wanted]:
                self._remove(key, version, None, sender)
            for key, value in wanted.items():
                self._put(key, value, version, None, sender)
            if self._why_apart is not None:
                self._end_apart(list(wanted), dict(op.fences))
            return None
        for key in [key for key, _ in op.items] if isinstance(op, Set) else [op.key]:
            newest = self._fence_of(key)
            if op.fence is not None and newest is not None and op.fence < newest:
                return StaleToken(f"{key!r} of {self.name!r} was written with token {newest}, this one has {op.fence}")
        if isinstance(op, Set):
            for key, value in op.items:
                self._put(key, value, version, op.fence, sender)
            return None
        if isinstance(op, Delete):
            return self._remove(op.key, version, op.fence, sender) or self._refuse(op)
        entry = self._entries.get(op.key)
        if ([] if entry is None else [entry.value]) != op.expected:
            return self._refuse(op)
        if op.new:
            self._put(op.key, op.new[0], version, op.fence, sender)
        else:
            self._remove(op.key, version, op.fence, sender)
        return True

    def _end_apart(self, keys: list[K], fences: dict[K, Token]) -> None:
        """Behind a `Replace` these keys are here. Each side had deleted and fenced what it had: none of that counts,
        or members that go together would differ in what they refuse."""
        self._why_apart = None
        self._entries = {key: self._entries[key]._replace(fence=fences.pop(key, None)) for key in keys}
        self._graves = {}
        for key, fence in fences.items():
            self._bury(key, Grave(BEFORE, fence))

    def _refuse(self, op: Any) -> bool:
        """It changes nothing; the token that it came with was seen all the same."""
        if op.fence is not None:
            if (entry := self._entries.get(op.key)) is not None:
                self._entries[op.key] = entry._replace(fence=op.fence)
            else:
                self._bury(op.key, self._graves.get(op.key, Grave(BEFORE))._replace(fence=op.fence))
        return False

    def _fence_of(self, key: K) -> Token | None:
        known = self._entries.get(key) or self._graves.get(key)
        return None if known is None else known.fence

    def _put(self, key: K, value: V, version: Token, fence: Token | None, by: Address) -> None:
        old = self._entries.get(key)
        known: Entry[V] | Grave | None = self._graves.pop(key, None) if old is None else old
        if fence is None and known is not None:
            fence = known.fence
        self._entries[key] = Entry(value, version, fence, mark_of(by))
        if self._feeds:
            self._tell(Change(key, None if old is None else old.value, value, by))

    def _remove(self, key: K, version: Token, fence: Token | None, by: Address) -> bool:
        fence = fence or self._fence_of(key)
        old = self._entries.pop(key, None)
        if old is None:
            return False
        self._bury(key, Grave(version, fence))
        if self._feeds:
            self._tell(Change(key, old.value, None, by))
        return True

    def _bury(self, key: K, grave: Grave) -> None:
        self._graves[key] = grave
        while len(self._graves) > self._most_graves:
            del self._graves[next(iter(self._graves))]

    def _tell(self, change: Change[K, V]) -> None:
        for feed in list(self._feeds):
            feed.put(change)

    def _end(self, error: RingcastError) -> None:
        super()._end(error)
        for feed in list(self._feeds):
            feed.end()

    # ---- state

    async def _cut(self) -> bytes:
        return _encode(_State(self._version, list(self._entries.items()), list(self._graves.items())))

    async def _load(self, state: bytes) -> None:
        found, before = self._states.decode(state), self._entries
        self._version = found.version
        self._entries, self._graves = dict(found.entries), dict(found.graves)
        if self._feeds:
            for key in dict.fromkeys((*before, *self._entries)):
                old, new = before.get(key), self._entries.get(key)
                if (old and old.value) != (new and new.value) or (old is None) != (new is None):
                    self._tell(Change(key, old and old.value, new and new.value, None))

    def _merge(self, sides: Sides) -> bytes:
        states = [self._states.decode(state) for state in sides.values()]
        version = max(state.version for state in states)
        merged = merge_sides([Side(dict(state.entries), dict(state.graves)) for state in states], self._rule, version)
        graves = sorted(merged.graves.items(), key=lambda item: item[1].version)
        del graves[: max(0, len(graves) - self._most_graves)]
        state = _encode(_State(version, list(merged.entries.items()), graves))
        self._states.decode(state)  # What a rule has made is of the right type, or the sides stay apart.
        return state
