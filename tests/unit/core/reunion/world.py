"""Processes whose applications merge their states after a MergeView, in the deterministic world of membership.

The state is the list of everything read. Merged, each entry stands once; so an update that is in the merged state and
is delivered again would stand twice, and one that is in neither is missing.
"""

from __future__ import annotations

from typing import Any

from ringcast.core import AwaitMerged, AwaitState, Deliver, Effect, GiveMerged, MergedOver, MergeStates, SideOver
from ringcast.model import Address
from unit.core.membership.world import Proc, World

Entries = list[tuple[str, bytes]]


class Stop:
    """The place behind the MergeView where the reader stands until there is one state."""

    def __init__(self, cut: object) -> None:
        self.cut = cut
        self.is_reached = False


class Reuniting(Proc):
    def __init__(self, *args: Any, **join: Any) -> None:
        super().__init__(*args, reunites=True, **join)
        self.stop: Stop | None = None
        self.role: MergeStates | AwaitMerged | AwaitState | None = None
        self.parts: dict[Address, list[bytes]] = {}
        self.whole: dict[Address, None] = {}
        self.merged: Entries | None = None
        self.hook_error: str | None = None
        self.hooked: list[int] = []  # how many sides each call of the hook got
        self.apart: list[str] = []
        self.reunited = 0
        self.has_given = False
        self.is_whole = False

    # ---- effects

    def _do(self, effect: Effect) -> None:
        match effect:
            case MergeStates() | AwaitMerged():
                self._take_role(effect, effect.cut)
            case AwaitState() if self.stop is not None:
                self.inbox = type(self.inbox)(item for item in self.inbox if not isinstance(item, Deliver))
                if not self.stop.is_reached:
                    self.inbox.remove(self.stop)
                    self.inbox.appendleft(self.stop)
                self.chunks.clear()
                self._take_role(effect, self.stop.cut)
            case SideOver():
                self.whole[effect.giver] = None
            case GiveMerged():
                assert self.merged is not None
                for member in effect.members:
                    self.giving[member] = self._as_chunks(self.merged)
                self._go_on(self.merged)
            case MergedOver(error=None):
                self.is_whole = True
            case MergedOver():
                self.apart.append(effect.error or "")
                self._go_on(None)
            case _:
                super()._do(effect)

    def _take_role(self, role: MergeStates | AwaitMerged | AwaitState, cut: object) -> None:
        if self.stop is None or self.stop.cut != cut:
            self.stop = Stop(cut)
            self.inbox.append(self.stop)
        self.role, self.parts, self.whole, self.merged = role, {}, {}, None
        self.has_given = self.is_whole = False

    def _go_on(self, state: Entries | None) -> None:
        if state is not None:
            self.got = list(state)
            self.reunited += 1
        if self.stop is not None and not self.stop.is_reached:
            self.inbox.remove(self.stop)
        self.stop = self.role = None

    # ---- the application

    def _as_chunks(self, entries: Entries) -> Any:
        mine, self.got = self.got, entries
        chunks = self._snapshot()
        self.got = mine
        return chunks

    def _load(self) -> bool:
        if self.stop is None:
            return super()._load()
        if self.chunks:
            chunk = self.chunks.popleft()
            self.parts.setdefault(chunk.origin, []).extend(chunk.payloads)
            self.do(self.node.on_taken(self.world.now, chunk))
            return True
        return self.stop.is_reached and self._work()

    def _work(self) -> bool:
        """What this process does at the stop; True if it did something."""
        role = self.role
        if self.is_whole:
            (parts,) = self.parts.values() or [[]]
            self._go_on(entries_of(parts))
            return True
        if isinstance(role, AwaitMerged) and role.gives and not self.has_given:
            self.has_given = True
            self.giving[role.merger] = self._snapshot()
            return True
        if isinstance(role, MergeStates) and self.merged is None:
            others = [side.giver for side in role.sides if side.giver != self.address]
            if all(giver in self.whole for giver in others):
                sides = [entries_of(self.parts.get(giver, [])) for giver in others]
                sides += [self.got] if len(others) < len(role.sides) else []
                self.hooked.append(len(role.sides))
                self.merged = sorted({entry: None for side in sides for entry in side})
                self.do(self.node.on_states_merged(self.world.now, self.hook_error))
                return True
        return False

    def _read(self) -> bool:
        if self.stop is not None and self.stop.is_reached:
            return False
        if self.inbox and isinstance(self.inbox[0], Stop):
            stop = self.inbox.popleft()
            stop.is_reached = stop is self.stop
            return True
        return super()._read()


def entries_of(chunks: list[bytes]) -> Entries:
    lines = b"".join(chunks).split(b"\n")[:-1]
    return [(line.partition(b":")[0].decode(), line.partition(b":")[2]) for line in lines]


class ReunionWorld(World):
    proc = Reuniting
    procs: dict[str, Reuniting]  # type: ignore[assignment]

    def __getitem__(self, name: str) -> Reuniting:
        return self.procs[name]

    def split(self, left: str, right: str) -> None:
        self.blocked = lambda sender, receiver: (sender in left) != (receiver in left)
        assert self.is_soon_one(left) and self.is_soon_one(right)

    def heal(self) -> None:
        self.blocked = lambda sender, receiver: False

    def state(self, name: str) -> Entries:
        return sorted(self[name].got)
