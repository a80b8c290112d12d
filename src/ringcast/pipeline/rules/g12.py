"""G12, atomic queueing: one order for everybody who receives, acyclic over all.

Judged view by view; between views the view number decides. In a view: 1. At each member the seqs of what it dequeues
grow. 2. A seq means the same message everywhere, and a message has one seq. If both hold, every member's order is a
part of the order by seq, so all agree and there is no cycle: exact, linear, on arrays. A seq that travels with the
message proves nothing by itself; it is (1), the member's own order, that is compared with it. If one of them fails,
the seqs do not decide. Then the graph of consecutive dequeues of that view is searched for a cycle (strongly
connected components): there is one iff no single order fits. Compared are members that go on together, or that ended
here in good order: what a member ordered that crashed or was cut off may differ.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from ringcast.model import Kind
from ringcast.pipeline.rules.cycles import cycle_in
from ringcast.pipeline.rules.facts import Facts
from ringcast.pipeline.rules.member import Array, Batch, View

GUARANTEE = "G12"
_NUMBER_BITS = 44  # a sender's own number; the sender's code is above
_DENSE = 4  # seqs of a view are counted from one, so a table of them is not much larger than their number


class Order:
    """Judges one view at a time; `together` (where each member went from it) is asked only if seqs do not decide."""

    def __init__(self, names: Sequence[str], facts: Facts) -> None:
        self._names = names
        self._facts = facts

    def on_view(self, view: View, parts: Mapping[int, Batch], together: Callable[[], Mapping[int, object]]) -> None:
        dequeued = {member: part.of(Kind.DEQUEUE) for member, part in parts.items()}
        dequeued = {member: runs for member, runs in dequeued.items() if len(runs)}
        self._facts.examined(GUARANTEE, int(sum(runs.count.sum() for runs in dequeued.values())))
        if is_one_order(list(dequeued.values())):
            return
        groups: defaultdict[object, dict[int, Batch]] = defaultdict(dict)
        went = together()
        for member, runs in dequeued.items():
            if went.get(member) is not None:
                groups[went[member]][member] = runs
        for group in groups.values():
            self._search(view, group)

    def _search(self, view: View, group: Mapping[int, Batch]) -> None:
        sequences = {member: _singles(runs) for member, runs in group.items()}
        found = cycle_in({member: ids.tolist() for member, (ids, _) in sequences.items()})
        if found is None:
            return
        first, second, member, other = found
        ids, indexes = sequences[member]
        at = int(indexes[np.flatnonzero(ids == second)[0]])
        who, whom = self._names[member], self._names[other]
        pair = f"{self._message(second)} after {self._message(first)}"
        sentence = f"in view {view[0]} {who} dequeued {pair}, but with {whom} and others there is a circle"
        if member != other and _inverted(sequences[other][0], first, second):
            sentence = f"in view {view[0]} {who} dequeued {pair}, {whom} the other way round"
        self._facts.violation(GUARANTEE, member, other, at, sentence)

    def _message(self, ident: int) -> str:
        return f"{self._names[ident >> _NUMBER_BITS]}'s {ident & ((1 << _NUMBER_BITS) - 1)}"


def is_one_order(members: Sequence[Batch]) -> bool:
    """Do the seqs prove that these members dequeued in one order?"""
    if not members:
        return True
    if not all((np.diff(runs.value) > 0).all() for runs in members):
        return False
    top = max(int(runs.value[-1]) for runs in members)
    total = sum(len(runs) for runs in members)
    if min(int(runs.value[0]) for runs in members) < 0 or top > _DENSE * total + 1024:
        return _is_one_to_one(members)
    meaning = np.full(top + 1, -1, dtype=np.int64)
    idents = [_idents(runs) for runs in members]
    for runs, ids in zip(members, idents, strict=True):
        meaning[runs.value] = ids
    if not all((meaning[runs.value] == ids).all() for runs, ids in zip(members, idents, strict=True)):
        return False
    return len(_unique(meaning[meaning >= 0])) == int((meaning >= 0).sum())


def _unique(ids: Array) -> Array:
    """Different values; quick where each sender's numbers grow with the seq, as they should."""
    sender = ids >> _NUMBER_BITS
    if all((np.diff(ids[sender == code]) > 0).all() for code in np.unique(sender)):
        return ids
    return np.unique(ids)


def _is_one_to_one(members: Sequence[Batch]) -> bool:
    pairs = np.unique(np.concatenate([np.stack([r.value, _idents(r)], axis=1) for r in members]), axis=0)
    return len(np.unique(pairs[:, 0])) == len(pairs) == len(np.unique(pairs[:, 1]))


def _idents(runs: Batch) -> Array:
    ids: Array = (runs.peer.astype(np.int64) << _NUMBER_BITS) + runs.first
    return ids


def _singles(runs: Batch) -> tuple[Array, Array]:
    """Every message by itself, with the index of its event."""
    repeat = runs.count
    within = np.arange(int(repeat.sum())) - np.repeat(np.cumsum(repeat) - repeat, repeat)
    return np.repeat(_idents(runs), repeat) + within, np.repeat(runs.index, repeat)


def _inverted(ids: Array, first: int, second: int) -> bool:
    a, b = np.flatnonzero(ids == first), np.flatnonzero(ids == second)
    return bool(len(a) and len(b) and b[0] < a[0])
