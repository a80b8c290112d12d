"""How two histories of a dictionary become one: the rules, as a pure function from the states of the sides to one.

A side's state is its entries and its graves (what was deleted, and when), each with the version of the operation that
made it. Versions of one side only grow; behind the merge every version is greater than all of before. A side that has
seen a newer fencing token for a key is later than one that has not, whatever the versions: what a former holder wrote
on a side of its own does not count.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import lru_cache
from typing import Any, Generic, Literal, NamedTuple, TypeVar
from zlib import crc32

import msgspec

from ringcast import Address
from ringcast.blocks.errors import Apart
from ringcast.blocks.tokens import BEFORE, Token

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

Rule = Literal["last", "union", "sum", "refuse"]
RULES = ("last", "union", "sum", "refuse")
MergeRule = Rule | Callable[[K, list[V]], V]


class Entry(NamedTuple, Generic[V]):
    value: V
    version: Token
    fence: Token | None = None  # the newest token with which this key was written
    writer: int = 0  # of `mark_of`: two sides may give one version to two writes


class Grave(NamedTuple):
    """A key that was deleted. With the version BEFORE it was not: it is not there, and a token was seen for it."""

    version: Token
    fence: Token | None = None


class Side(NamedTuple, Generic[K, V]):
    entries: dict[K, Entry[V]]
    graves: dict[K, Grave]


_encode = msgspec.msgpack.Encoder(order="deterministic").encode


@lru_cache(1024)
def mark_of(writer: Address) -> int:
    """Tells writers apart in a few bytes; the same everywhere."""
    return crc32(_encode(writer))


def merge_sides(sides: Sequence[Side[K, V]], rule: MergeRule[K, V], version: Token) -> Side[K, V]:
    """One of many; what is computed anew has this version. Raises Apart if the rule is to refuse and they differ."""
    merged = Side[K, V]({}, {})
    for key in dict.fromkeys(key for side in sides for key in (*side.entries, *side.graves)):
        entries = [side.entries[key] for side in sides if key in side.entries]
        graves = [side.graves[key] for side in sides if key in side.graves]
        if rule == "refuse" and len({_shape(side, key) for side in sides}) > 1:
            raise Apart(f"the sides differ, for one in {key!r}, and the rule is to refuse")
        fences = [entry.fence for entry in entries] + [grave.fence for grave in graves]
        fence = max((fence for fence in fences if fence is not None), default=None)
        found = _chosen(key, entries, graves, rule, version)
        if isinstance(found, Grave):
            merged.graves[key] = found._replace(fence=fence)
        else:
            merged.entries[key] = found._replace(fence=fence)
    return merged


def _shape(side: Side[K, V], key: K) -> bytes:
    """What a side has there, to be compared."""
    entry, grave = side.entries.get(key), side.graves.get(key)
    buried = BEFORE if grave is None else grave.version
    return b"" if entry is None and buried == BEFORE else _encode((entry and entry[:2], buried))


def _chosen(
    key: K, entries: list[Entry[V]], graves: list[Grave], rule: MergeRule[K, V], version: Token
) -> Entry[V] | Grave:
    buried = max(graves, key=_rank, default=None)
    if not entries:
        assert buried is not None
        return buried
    last = max(entries, key=_place)
    apart = list({_place(entry): entry for entry in entries}.values())  # written apart, or once and known to several
    if rule == "sum" and len(apart) > 1:
        return Entry(_sum([entry.value for entry in apart]), version, writer=_mark_of_all(apart))
    if rule == "union" or rule == "sum":
        return last
    if buried is not None and _rank(buried) > _rank(last):
        return buried
    if callable(rule) and len(apart) > 1:
        return Entry(rule(key, [entry.value for entry in apart]), version, writer=_mark_of_all(apart))
    return last


def _rank(found: Entry[Any] | Grave) -> tuple[Token, Token]:
    return found.fence or BEFORE, found.version


def _place(entry: Entry[Any]) -> tuple[tuple[Token, Token], bytes, int]:
    """Versions of two sides may be equal: then the greater bytes, so that the choice is the same whoever makes it."""
    return _rank(entry), _encode(entry.value), entry.writer


def _mark_of_all(entries: list[Entry[Any]]) -> int:
    return crc32(_encode([entry.writer for entry in entries]))


def _sum(values: list[V]) -> V:
    total: Any = values[0]
    for value in values[1:]:
        total = total + value
    return total  # type: ignore[no-any-return]
