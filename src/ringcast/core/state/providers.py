"""Which state transfers are under way, and who gives the state to whom (seed 004, its open issue; merges).

JOIN_WITH_STATE is one event: the view that brings the joiner names its provider, and the state is what that member's
application holds when it comes to the view, so the cut is exact. A provider that is gone is replaced by the very view
that removes it, and the state is then cut at that view. Every member knows this, because any of them may have to lead.
After a MergeView whose states become one (below), all its members lack the merged state; once somebody has
it, those who lack it when the merger is gone are like joiners. Not the chunks: chunks.py.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from ringcast.core.control import NO_STATE, NewView, Reunion, Side, Standing, Transfer
from ringcast.core.deadlines import Timer
from ringcast.model import Address, View, ViewId

BARE = NO_STATE._replace(is_bare=True)
MAX_EARLY = 1_024  # confirmations kept until their view comes


class PendingStates:
    """Who has not confirmed its state yet, by joiner.

    A joiner without anybody who could provide is in no transfer: its node tells it so.
    """

    def __init__(self, reunites: bool = False) -> None:
        self.reunites = reunites  # the application merges states
        self.transfers: dict[Address, Transfer] = {}
        self.reunion: Reunion | None = None
        self._lacking: dict[Address, None] = {}
        self.early: dict[Address, None] = {}  # who confirmed before we had the view it speaks of
        self._failed: dict[Address, None] = {}  # whose state could not be loaded, the latest last: asked last

    def on_view(self, message: NewView) -> list[Address]:
        """Returns those whose wait for a state begins with this view, or is known here from this view on.

        Whoever joined after them, or was on another side of a merge, may have to lead while they still wait.
        """
        transfers = [transfer for transfer in message.transfers if transfer.joiner not in self.early]
        before, self.transfers = self.transfers, {transfer.joiner: transfer for transfer in transfers}
        begun = [each.joiner for each in transfers if each.view == message.id or each.joiner not in before]
        begun += [member for member in message.loading if member not in begun and member not in self.early]
        self.reunion = message.reunion
        self._lacking = {} if self.reunion is None else dict.fromkeys(self.reunion.lacking)
        if self.reunion is not None and self.reunion.view == message.id:
            for member in self.early:
                self._lacking.pop(member, None)
            begun += [member for member in self._lacking if member not in begun]
        self.early.clear()
        self._failed = {member: None for member in self._failed if member in message.members}
        return begun

    @property
    def is_apart(self) -> bool:
        """Somebody lacks the merged state, as far as we heard; a roll call knows it (`still_apart`)."""
        return bool(self._lacking)

    def confirm(self, joiner: Address, *, is_loaded: bool = True) -> None:
        """The joiner waits no longer. If it has no state, the next one is given another provider, if there is one."""
        transfer = self.transfers.get(joiner)
        if transfer is not None:
            self._failed.pop(transfer.provider, None)
            if not is_loaded:
                self._failed[transfer.provider] = None
        if joiner not in self.transfers and joiner not in self._lacking and len(self.early) < MAX_EARLY:
            self.early[joiner] = None
        self.transfers.pop(joiner, None)
        self._lacking.pop(joiner, None)

    def assign(
        self,
        view: ViewId,
        staying: list[Address],
        observers: Collection[Address],
        wanting: list[Address],
        standings: Mapping[Address, Standing] | None = None,
    ) -> tuple[tuple[Transfer, ...], Reunion | None]:
        """Who provides in the next view; and how the states of a merge go on becoming one."""
        standings = standings or {}
        reunion = None if self.reunion is None else still_apart(self.reunion, staying, standings)
        if reunion is None:
            return self._for_joiners(view, staying, observers, wanting, standings), None
        holders = [m for m in staying if standings.get(m, NO_STATE).reunited == reunion.cut and m not in observers]
        if not holders:
            return (), reunion_after(reunion, view, staying, observers, standings)
        going_on = [t for m in reunion.lacking if (t := self._gift(m, reunion)).provider in holders]
        kept = [transfer.joiner for transfer in going_on]
        waiting = [member for member in reunion.lacking if member not in kept] + wanting
        return (*going_on, *self._shared_out(view, waiting, holders)), reunion

    def _gift(self, member: Address, reunion: Reunion) -> Transfer:
        """A later view may have named another than the merger; a join that a MergeView came before is no gift of it."""
        named = self.transfers.get(member)
        is_later = named is not None and named.view.number > reunion.view.number
        return named if named is not None and is_later else Transfer(member, reunion.merger, reunion.view)

    def assign_merged(
        self, view: View, staying: list[Address], standings: Mapping[Address, Standing]
    ) -> tuple[Transfer, ...]:
        """Joiners of our side go on loading; if their provider is gone, another one of our side provides."""
        members = [member for member in staying if member in view]
        return self._for_joiners(view.id, members, view.observers, [], standings)

    def _for_joiners(
        self,
        view: ViewId,
        staying: list[Address],
        observers: Collection[Address],
        wanting: list[Address],
        standings: Mapping[Address, Standing],
    ) -> tuple[Transfer, ...]:
        """Whoever provides already, else one of those who have the state. Each member speaks for itself."""
        joining = {m: t for m in staying if (t := self._joining(m, standings)) is not None}
        going_on = [t for m, t in joining.items() if t.provider in staying or standings.get(m, NO_STATE).is_whole]
        served = [transfer.joiner for transfer in going_on]
        waiting = [member for member in joining if member not in served]
        able = [m for m in staying if m not in observers and m not in joining]
        return (*going_on, *self._shared_out(view, waiting + wanting, able)) if able else tuple(going_on)

    def _shared_out(self, view: ViewId, waiting: list[Address], able: list[Address]) -> list[Transfer]:
        """From the end of the view: the coordinator has enough to do. Who failed lately comes last."""
        well = [m for m in able if m not in self._failed] or [m for m in reversed(self._failed) if m in able]
        return [Transfer(joiner, well[-1 - number % len(well)], view) for number, joiner in enumerate(waiting)]

    def _joining(self, member: Address, standings: Mapping[Address, Standing]) -> Transfer | None:
        standing = standings.get(member)
        return self.transfers.get(member) if standing is None else standing.joining


class Transfers:
    """Transfers under way, as the view handler knows them: while there is one, no merge may begin.

    One ends when the joiner confirms, when a view excludes it, or when it makes no progress for the limit.
    """

    def __init__(self, patience_ns: int, timer: Timer) -> None:
        self.patience_ns = patience_ns
        self.timer = timer
        self.under_way: dict[Address, int] = {}  # until when, without progress

    @property
    def joiners(self) -> tuple[Address, ...]:
        return tuple(self.under_way)

    def begin(self, now_ns: int, joiner: Address) -> None:
        self.under_way[joiner] = now_ns + self.patience_ns
        self._set_timer()

    def on_progress(self, now_ns: int, joiner: Address) -> None:
        if joiner in self.under_way:
            self.begin(now_ns, joiner)

    def end(self, joiner: Address) -> bool:
        return bool(self._end([joiner] if joiner in self.under_way else []))

    def end_outside(self, view: View) -> list[Address]:
        return self._end([joiner for joiner in self.under_way if joiner not in view])

    def end_stalled(self, now_ns: int) -> list[Address]:
        return self._end([joiner for joiner, deadline in self.under_way.items() if now_ns >= deadline])

    def _end(self, joiners: list[Address]) -> list[Address]:
        for joiner in joiners:
            del self.under_way[joiner]
        self._set_timer()
        return joiners

    def _set_timer(self) -> None:
        self.timer.at_ns = min(self.under_way.values(), default=None)


# Who makes one state of many after a MergeView, and who gives the state of each side. The merger is the first member
# that may coordinate and has a state; a side's giver the first of it. Who joined with state and has not loaded it has
# none: `get_state` would give what no member of its side holds. If merger or giver is gone before anybody has the
# merged state, all still stand directly behind the MergeView: the next view names others, and they begin anew at the
# same cut. A side of which nobody with a state is left has taken its state with it.


def reunion_of(view: View, stateless: tuple[Address, ...] = ()) -> Reunion | None:
    """That of a MergeView; None if there is nobody to do it."""
    return _named(view.id, view.id, view.subgroups, view.members, view.observers, stateless)


def still_apart(reunion: Reunion, staying: Sequence[Address], standings: Mapping[Address, Standing]) -> Reunion | None:
    """This reunion as it stands after a roll call; None if everybody has the merged state."""
    lacking = tuple(m for m in staying if m in standings and standings[m].lacks and m in reunion.lacking)
    return reunion._replace(lacking=lacking) if lacking else None


def reunion_after(
    reunion: Reunion,
    view: ViewId,
    staying: Sequence[Address],
    observers: Collection[Address],
    standings: Mapping[Address, Standing] | None = None,
) -> Reunion | None:
    """Nobody has the merged state yet: the same if all who work on it go on, else others, named by this view."""
    if reunion.merger in staying and all(side.giver in staying for side in reunion.sides):
        return reunion
    subgroups = [side.members for side in reunion.sides]
    lacking = [member for member in staying if member in reunion.lacking]
    # Of a side whose holders of an earlier merged state are gone, those who lacked that one still have their own.
    able = [m for m in lacking if m not in observers and m not in reunion.stateless]
    lost = [member for side in subgroups if not any(m in able for m in side) for member in side]
    bare = [m for m in reunion.stateless if m not in lost or (standings or {}).get(m, BARE).is_bare]
    return _named(reunion.cut, view, subgroups, lacking, observers, tuple(bare))


def _named(
    cut: ViewId,
    view: ViewId,
    subgroups: Collection[tuple[Address, ...]],
    members: Sequence[Address],
    observers: Collection[Address],
    stateless: tuple[Address, ...],
) -> Reunion | None:
    able = [member for member in members if member not in observers and member not in stateless]
    sides = [Side(giver, side) for side in subgroups if (giver := next((m for m in side if m in able), None))]
    return Reunion(cut, view, able[0], tuple(sides), tuple(members), stateless) if sides else None
