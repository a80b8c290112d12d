"""A program with a state: it gives it to joiners, begins with that of others, and makes one of many after a merge.

Its state is a tally of what it read (tally.py). When it gives it, it writes with it who it is and which view it read
last; so whoever gets it can say whose state it has, as of which cut, and the notes of all tell whether that is true
(succession.py). How large states are, and how often giving one fails half way, is drawn from the seed.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass, field
from random import Random

from ringcast.model import MS, Address, Batch, Kind, Message, Notice, Rejoin, StatesApart, View, ViewChange, ViewId
from ringcast.order import Order
from ringcast.sim.cluster import Cluster
from ringcast.sim.succession import Cut, Succession
from ringcast.sim.tally import Tally, merged, read_state, written_state
from ringcast.sim.workload import Talker, Workload

NO_STATE = ""  # in place of a digest
UNREADABLE = "the disk cannot be read"
CHUNK = 1_000
LARGE = 400_000  # bytes of a large state


@dataclass(frozen=True, slots=True)
class StateLoad:
    padding: int = 0  # bytes that are added to each state
    failing_share: float = 0.0  # of the orders to give a state this share ends half way, with an error
    until_ns: int = 0  # nobody fails from here on
    merges: bool = False  # after a merge the states of the sides become one
    loading_ns: int = 0  # so long `set_state` works on what it got


def draw_state(seed: int | str, until_ns: int, *, is_narrow: bool = False) -> StateLoad:
    """What belongs to a seed: states of one part or of up to hundreds. `is_narrow`: a window of streams holds one."""
    random = Random(f"{seed}/state")
    padding, failing = random.choice((0, 2_000, 20_000, 60_000, LARGE)), random.choice((0.0, 0.0, 0.2))
    merges, loading_ns = random.random() < 0.5, random.choice((0, 0, 0, 500, 3000)) * MS
    return StateLoad(min(padding, 60_000) if is_narrow else padding, failing, until_ns, merges, loading_ns)


@dataclass(slots=True)
class StatefulWorkload:
    """Programs that send as in any workload, and have a state."""

    workload: Workload
    load: StateLoad
    succession: Succession = field(default_factory=Succession)

    def make_app(self, cluster: Cluster, name: str) -> Keeper:
        kind = MergingKeeper if self.load.merges else Keeper
        return kind(cluster, name, self.workload, self.load, self.succession)


class Keeper(Talker):
    """`tally` is None until there is a state: one that was given to it, or its own, if it founded the group.

    A new incarnation begins without one.
    """

    def __init__(
        self, cluster: Cluster, name: str, workload: Workload, load: StateLoad, succession: Succession
    ) -> None:
        super().__init__(cluster, name, workload)
        self.tally: Tally | None = None
        self._load = load
        self._succession = succession
        self._failing = self._source("state")

    @property
    def _me(self) -> Address:
        return self._cluster[self._name].address

    @property
    def _now_ns(self) -> int:
        return self._cluster.clock.now_ns

    # ---- the hooks of `join`

    def get_state(self) -> bytes | Iterator[bytes]:
        assert self.tally is not None and self.views, "a state is asked of whoever has one, behind a view"
        text = written_state(self._me, self.views[-1].id, self.tally, self._load.padding)
        if self._now_ns < self._load.until_ns and self._failing.random() < self._load.failing_share:
            return _failing_half_way(text)
        return text if self._failing.random() < 0.5 else iter(_parts(text))

    async def set_state(self, chunks: AsyncIterator[bytes]) -> None:
        since_ns, parts = self._now_ns, []
        async for chunk in chunks:
            parts.append(chunk)
            await asyncio.sleep((self.read_every_ns or 0) / 1e9)
        if self._load.loading_ns:
            await asyncio.sleep(self._load.loading_ns / 1e9)
        provider, view, tally = self._read_state(b"".join(parts))
        self.tally = tally
        self._hold(provider, view, tally, since_ns)

    def _read_state(self, text: bytes) -> tuple[Address, ViewId, Tally]:
        try:
            return read_state(text)
        except ValueError as error:
            self._succession.note_damage(self._me, str(error))
            raise

    def _hold(self, provider: Address, view: ViewId, tally: Tally, since_ns: int) -> None:
        self._succession.note_state(self._me, Cut(provider, view), tally.digest, self._now_ns)

    # ---- reading

    def take(self, event: Message | Batch | Notice) -> None:
        if isinstance(event, Message | Batch):
            tally = self._tally_of(self._me)  # Who reads a message has a state.
            if not event.private:
                payloads = [event.payload] if isinstance(event, Message) else event.payloads
                tally.read(event.sender, payloads, in_order=event.order is Order.TOTAL)
        elif isinstance(event, ViewChange):
            self._read_view(event.view)
        elif isinstance(event, StatesApart):
            self._succession.note_apart(event.view)
        elif isinstance(event, Rejoin):
            self.tally = None  # What it built up counts no more: the new incarnation asks for the state.
        super().take(event)

    def _read_view(self, view: View) -> None:
        """Under its address in this view: if it is read late, there is a later incarnation already."""
        me = max(member for member in view.members if member.name == self._name)
        if self.tally is None and (len(view.members) > 1 or me in self._succession.stands):
            # There will be no state, or a merge came before it: then it reads on to the merged one.
            self._succession.note_view(me, view, NO_STATE)
        else:
            self._succession.note_view(me, view, self._tally_of(me).digest)

    def _tally_of(self, me: Address) -> Tally:
        """Its state: a new one, if it has none, as of somebody who founds a group."""
        if self.tally is None:
            self.tally = Tally()
            self._succession.note_state(me, None, self.tally.digest, self._now_ns)
        return self.tally


class MergingKeeper(Keeper):
    """One that also makes one state of many."""

    def merge_state(self, sides: Mapping[tuple[Address, ...], bytes]) -> bytes:
        tallies = [self._read_state(text)[2] for text in sides.values()]
        view = self.views[-1]
        self._succession.note_merge(view.id, self._me, tuple(sides))
        return written_state(None, view.id, merged(tallies), self._load.padding)

    def _hold(self, provider: Address, view: ViewId, tally: Tally, since_ns: int) -> None:
        if provider.name:
            super()._hold(provider, view, tally, since_ns)
        else:
            self._succession.note_merged(self._me, view, tally.digest, self._members_at_merge(view))

    def _members_at_merge(self, cut: ViewId) -> tuple[Address, ...]:
        """Who was in the view when the merged state came to be its own: a slow application loads it in a later one."""
        members: tuple[Address, ...] = ()
        then = self._cluster[self._name].node.view.members
        for event in self._cluster.events(self._name):
            detail = event.detail or {}
            if event.kind is Kind.VIEW:
                members = tuple(Address(*member) for member in detail["members"])
            elif event.kind is Kind.REUNION and event.view == cut and detail["step"] in ("merged", "loaded"):
                then = members
        return then


def _parts(text: bytes) -> list[bytes]:
    return [text[at : at + CHUNK] for at in range(0, len(text), CHUNK)] or [b""]


def _failing_half_way(text: bytes) -> Iterator[bytes]:
    parts = _parts(text)
    yield from parts[: len(parts) // 2]
    raise OSError(UNREADABLE)
