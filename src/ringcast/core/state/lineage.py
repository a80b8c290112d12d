"""From whom each member has its state, and so which messages of the one order a state includes.

    P is asked at view 7; it had loaded its state from Q, cut at view 5:    P: 0 ≤ view < 7    Q: 0 ≤ view < 5

A member's state includes the ordered messages that it was a destination of. If it loaded a state itself, also those
that this one includes, up to its cut. After a merge whose states became one, what a member had read before the
MergeView is no part of what it holds; a joiner that still loaded then reads those behind the merged state.
Kept only while this member waits for a state: of what came before that it has read everything.
"""

from __future__ import annotations

from typing import NamedTuple

from ringcast.core.control import NewView
from ringcast.core.effects import Included
from ringcast.model import Address

MOST_INCLUDED = 1_024  # entries of one answer; beyond it a message may be read although the state includes it


class _Load(NamedTuple):
    """A member loads a state that is cut at the view of this number."""

    number: int
    sources: tuple[Address, ...]
    is_whole: bool  # what the member was a destination of before the cut counts too: it reads that behind the state


class Lineage:
    def __init__(self) -> None:
        self._loads: dict[Address, list[_Load]] = {}  # by member, in the order of views

    def clear(self) -> None:
        self._loads.clear()

    def on_view(self, message: NewView) -> None:
        """Note who begins to load a state with this view."""
        reunion, number = message.reunion, message.id.number
        if reunion is not None and reunion.view == message.id:
            givers = tuple(side.giver for side in reunion.sides)
            for member in reunion.lacking:
                self._add(member, _Load(reunion.cut.number, givers, member in reunion.stateless))
            return
        for transfer in message.transfers:
            if transfer.view == message.id:
                self._add(transfer.joiner, _Load(number, (transfer.provider,), True))

    def _add(self, member: Address, load: _Load) -> None:
        loads = [known for known in self._loads.get(member, []) if known.number < load.number]
        self._loads[member] = [*loads, load]

    def included(self, givers: tuple[Address, ...], before: int) -> tuple[Included, ...]:
        """Return what the states of these members include, cut at the view of this number."""
        found: dict[Included, None] = {}
        to_do = [(giver, before) for giver in givers]
        while to_do and len(found) < MOST_INCLUDED:
            member, before = to_do.pop(0)
            load = next((known for known in reversed(self._loads.get(member, [])) if known.number < before), None)
            entry = Included(member, 0 if load is None or load.is_whole else load.number, before)
            if entry in found:
                continue
            found[entry] = None
            if load is not None:
                to_do += [(source, load.number) for source in load.sources]
        return tuple(found)
