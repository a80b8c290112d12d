"""Facts: the small rows that kernels return and comparisons read.

A fact says what one segment of one member's recording holds, in a form that can be joined with the facts of the
segments around it. Members are written as text (`key_of`), so that a fact means the same outside its segment.
Rows called `violation`, `examined` and `lacks` are results; a kernel and a comparison may both give them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from operator import index
from typing import NamedTuple

import msgspec

from ringcast.model import Address

KEPT_VIOLATIONS = 100  # of one guarantee in one segment or one comparison; more are counted, not kept
VIOLATION, EXAMINED, LACKS, HIDDEN = "violation", "examined", "lacks", "hidden"


class Fact(msgspec.Struct, array_like=True, gc=False):
    """One row. `rule` is the guarantee, or empty for what the engine itself notes. Each rule says what its numbers
    mean; `low` and `high` are the two halves of a digest; `data` is for a few packed values (`packed.py`)."""

    rule: str
    what: str
    member: str
    segment: int
    index: int = -1
    peer: str = ""
    stream: int = 0
    first: int = 0
    last: int = 0
    count: int = 0
    value: int = 0
    other: int = 0
    low: int = 0
    high: int = 0
    text: str = ""
    data: bytes = b""


_encode = msgspec.msgpack.Encoder(enc_hook=index).encode  # numpy's integers are integers too
_decode = msgspec.msgpack.Decoder(list[Fact]).decode


def pack_facts(facts: list[Fact]) -> bytes:
    """Facts as bytes: what Spark moves of one segment is one row."""
    return _encode(facts)


def unpack_facts(data: bytes) -> list[Fact]:
    """The facts in these bytes; equal names are one object, because there may be many facts."""
    facts, known = _decode(data), {"": ""}
    for fact in facts:
        fact.rule, fact.what = known.setdefault(fact.rule, fact.rule), known.setdefault(fact.what, fact.what)
        fact.member, fact.peer = known.setdefault(fact.member, fact.member), known.setdefault(fact.peer, fact.peer)
    return facts


class Wanted(NamedTuple):
    """What a comparison wants to have read again, message by message: a range of one rule at one member."""

    rule: str
    member: str
    first_index: int  # events of the member's recording, from here up to, not including, the next
    end_index: int
    first: int = 0  # numbers that mean the same at every member
    last: int = 0
    what: str = ""  # which kind of event, where a rule reads several


def key_of(address: Address) -> str:
    """A member as text; sorts like nothing in particular, and is equal only for the same address."""
    return f"{address.name}\t{address.incarnation}\t{address.endpoint}"


@lru_cache(maxsize=1 << 12)
def address_of(key: str) -> Address:
    name, incarnation, endpoint = key.split("\t", 2)
    return Address(name, int(incarnation), endpoint)


@lru_cache(maxsize=1 << 12)
def name_of(key: str) -> str:
    return str(address_of(key)) if key else "somebody"


@dataclass(slots=True)
class Out:
    """Collects the rows of one rule over one segment (`member`, `segment`), or of one comparison."""

    rule: str
    member: str = ""
    segment: int = -1
    rows: list[Fact] = field(default_factory=list)
    wanted: list[Wanted] = field(default_factory=list)
    _examined: int = 0
    _violations: int = 0
    _lacks: dict[str, None] = field(default_factory=dict)

    def fact(self, what: str, **fields: object) -> None:
        self.rows.append(Fact(self.rule, what, self.member, self.segment, **fields))  # type: ignore[arg-type]

    def examined(self, count: int) -> None:
        self._examined += int(count)

    def violation(self, index: int, sentence: str, peer: str = "", member: str | None = None) -> None:
        self._violations += 1
        if self._violations <= KEPT_VIOLATIONS:
            who = self.member if member is None else member
            self.rows.append(Fact(self.rule, VIOLATION, who, self.segment, index=int(index), peer=peer, text=sentence))

    def lacks(self, reason: str) -> None:
        if len(self._lacks) < 10:
            self._lacks[reason] = None

    def want(self, wanted: Iterable[Wanted]) -> None:
        self.wanted.extend(wanted)

    def done(self) -> list[Fact]:
        """All rows, the counts at the end."""
        rows = list(self.rows)
        if self._examined:
            rows.append(Fact(self.rule, EXAMINED, self.member, self.segment, value=self._examined))
        rows += [Fact(self.rule, LACKS, self.member, self.segment, text=reason) for reason in self._lacks]
        if self._violations > KEPT_VIOLATIONS:
            more = self._violations - KEPT_VIOLATIONS
            rows.append(Fact(self.rule, HIDDEN, self.member, self.segment, value=more))
        return rows
