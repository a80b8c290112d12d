"""Linearizability of a register, decided from what its clients asked and were told, and from nothing else.

A history is linearizable if every operation can be given one moment between its beginning and its end, so that a single
copy which does them at these moments would have given the same answers. An operation whose end is not known (its
process died, or was told that it cannot be known) may have happened at any later moment, or never.
The search is that of Wing and Gong with Lowe's memory of what was tried: exact, and quick enough for some hundred
operations of a few clients.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

NEVER = float("inf")


@dataclass(frozen=True)
class Operation:
    """`read` gave `result`; `write` left `value`; `swap` left `value` if it found `expected`, `delete` left nothing,
    and both told in `result` whether they did. What was not there is None."""

    kind: str
    began: float
    ended: float  # NEVER: whether it happened is not known
    value: str | None = None
    expected: str | None = None
    result: object = None
    who: str = ""

    @property
    def is_sure(self) -> bool:
        return self.ended != NEVER

    def after(self, state: str | None) -> tuple[bool, str | None]:
        """Could it have been done here, and what is there then?"""
        match self.kind:
            case "read":
                return state == self.result, state
            case "write":
                return True, self.value
            case "delete":
                return not self.is_sure or self.result == (state is not None), None
        does = state == self.expected
        return not self.is_sure or self.result == does, self.value if does else state


def explain(operations: Sequence[Operation], initial: str | None = None) -> str | None:
    """None if there is an order that explains everything; else how far the longest one goes."""
    ops = sorted((op for op in operations if op.is_sure or op.kind != "read"), key=lambda op: op.began)
    sure = [index for index, op in enumerate(ops) if op.is_sure]
    tried: set[tuple[frozenset[int], str | None]] = set()
    best: frozenset[int] = frozenset()
    ways: list[tuple[frozenset[int], str | None]] = [(frozenset(), initial)]
    while ways:
        done, state = ways.pop()
        if (done, state) in tried:
            continue
        tried.add((done, state))
        left = [index for index in sure if index not in done]
        if not left:
            return None
        if len(done) > len(best):
            best = done
        first_end = min(ops[index].ended for index in left)
        for index in reversed(range(len(ops))):
            op = ops[index]
            if index in done or op.began > first_end:
                continue  # Something that had ended before it began is not done yet.
            may, then = op.after(state)
            if may:
                ways.append((done | {index}, then))
    rest = [op for index, op in enumerate(ops) if index not in best and op.is_sure][:4]
    return f"no order explains these, behind {len(best)} of {len(ops)}: {rest}"
