"""What the applications' states were at each view, and whether they can be true: the verdict on state transfer.

What must be equal, and no more than that:

- the state that a joiner got, and the one that its provider had where it read the view at which it was cut (only who
  founds a group begins with a state of its own);
- the states of members that had the same state when they read one view, and went on to the next one together: they
  read the same messages in between (G5). Together: not as different sides of a merge, each of which ends for itself.

After a partition the sides' states differ, and stay different after the merge, unless the applications make one of
them: then all hold the same one behind the view of the merge.
A reason for having no state must be true: who is told that nobody has it is in no view (or came into it from no side of
a merge) with one who long had.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import combinations, pairwise

from ringcast.model import SECOND, Address, View, ViewId

NOBODY_HAS_IT = "nobody in the view has the state"
NOBODY_OF_THE_SIDE = "nobody of this side of it has the state"  # after a merge
LONG_NS = 3 * SECOND  # longer than a roll call, in which whoever leads hears who has the state


@dataclass(frozen=True, slots=True)
class Cut:
    """Whose state it is, as of which view."""

    provider: Address
    view: ViewId


@dataclass(frozen=True, slots=True)
class Stand:
    """The state with which an application read a view, and the one with which it went on."""

    view: View
    digest: str
    then: str


@dataclass(frozen=True, slots=True)
class _Held:
    """Who loaded a merged state, and who was with it then: who had parted before may have made one of its own."""

    member: Address
    digest: str
    members: tuple[Address, ...]

    def is_with(self, other: _Held) -> bool:
        return self.member in other.members and other.member in self.members


@dataclass(slots=True)
class Succession:
    """Notes of one run."""

    stands: dict[Address, list[Stand]] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    _got: list[tuple[Address, Cut, str]] = field(default_factory=list)
    _founders: list[Address] = field(default_factory=list)
    _since_ns: dict[Address, int] = field(default_factory=dict)  # who has a state, since when
    _merges: dict[ViewId, list[str]] = field(default_factory=dict)  # who merged the states behind a view
    _merged: dict[ViewId, list[_Held]] = field(default_factory=dict)  # what was held behind a view, in that order
    _apart: dict[ViewId, None] = field(default_factory=dict)  # views behind which the states stayed apart
    _untrue: list[str] = field(default_factory=list)

    # ---- notes

    def note_state(self, member: Address, cut: Cut | None, digest: str, now_ns: int) -> None:
        """It has the state now: its provider's, or (None) that of a group that it founded."""
        self._since_ns[member] = now_ns
        self.counts["founded" if cut is None else "loaded"] += 1
        if cut is None:
            self._founders.append(member)
        else:
            self._got.append((member, cut, digest))

    def note_view(self, member: Address, view: View, digest: str) -> None:
        """Its application read this view. What it reads before the cut of its latest state is history, no state."""
        cut = next((cut for who, cut, _ in reversed(self._got) if who == member), None)
        if cut is None or view.id >= cut.view:
            self.stands.setdefault(member, []).append(Stand(view, digest, digest))

    def note_merge(self, view: ViewId, by: Address, sides: tuple[tuple[Address, ...], ...]) -> None:
        """Somebody makes one state of those of the sides."""
        self.counts["merges"] += 1
        self._merges.setdefault(view, []).append(f"{by} for {len(sides)} sides")

    def note_merged(self, member: Address, view: ViewId, digest: str, members: tuple[Address, ...]) -> None:
        """It holds the merged state: that is its state at this view, whatever it was before. With whom it is now."""
        self.counts["merged"] += 1
        self._merged.setdefault(view, []).append(_Held(member, digest, members))
        stands = self.stands.setdefault(member, [])
        if not stands or stands[-1].view.id != view:
            self._untrue.append(f"{member} got the merged state of {view}, which it did not read last")
        else:
            stands[-1] = replace(stands[-1], then=digest)

    def note_apart(self, view: ViewId) -> None:
        """There is no merged state for somebody: everybody keeps that of its side."""
        self.counts["apart"] += 1
        self._apart[view] = None

    def note_refusal(self, member: Address, why: str, view: View, now_ns: int) -> None:
        """It will have no state, for this reason."""
        self.counts["refused"] += 1
        if NOBODY_HAS_IT not in why and NOBODY_OF_THE_SIDE not in why:
            return
        for other in view.members if NOBODY_HAS_IT in why else _side_of(member, view):
            if other in view.observers:
                continue  # It gives its state to nobody.
            if other in self._since_ns and now_ns - self._since_ns[other] >= LONG_NS:
                self._untrue.append(f"{member} was told in {view.id} that nobody has the state, but {other} has it")

    def note_damage(self, member: Address, what: str) -> None:
        """What it got is no state, although it was told that it is whole."""
        self._untrue.append(f"{member} got what is no state, as if it were one: {what}")

    # ---- the verdict

    def strange(self) -> Iterator[str]:
        """A sentence for each state that cannot be true, and for each reason."""
        yield from self._strange_gifts()
        yield from self._strange_founders()
        yield from self._strange_passages()
        yield from self._strange_merges()
        yield from self._untrue

    def _strange_gifts(self) -> Iterator[str]:
        for joiner, cut, got in self._got:
            had = [stand.then for stand in self.stands.get(cut.provider, []) if stand.view.id == cut.view]
            if had != [got]:
                yield f"{joiner} got a state for {cut.view} that {cut.provider} did not have there"

    def _strange_founders(self) -> Iterator[str]:
        for founder in self._founders:
            first = next((stand.view for stand in self.stands.get(founder, [])), None)
            if first is not None and len(first.members) > 1:
                yield f"{founder} began with a state of its own in {first.id}, where others were before it"

    def _strange_merges(self) -> Iterator[str]:
        for view, held in self._merged.items():
            for one, other in combinations(held, 2):
                if one.digest != other.digest and one.is_with(other):
                    yield f"after the merge into {view} {one.member} and {other.member} hold different states"
        for member, stands in self.stands.items():
            for stand in stands[:-1]:
                merged = [] if stand.view.id in self._apart else self._merged.get(stand.view.id, [])
                digests = [held.digest for held in merged if member in held.members]  # who had parted is not asked
                if digests and stand.then not in digests and not self._got_later(member, stand.view.id):
                    yield f"{member} went on from the merge into {stand.view.id} without the merged state"

    def _got_later(self, member: Address, view: ViewId) -> bool:
        """Somebody who had the merged state gave it its own, as of a later view."""
        return any(who == member and cut.view > view for who, cut, _ in self._got)

    def _strange_passages(self) -> Iterator[str]:
        first: dict[tuple[ViewId, ViewId, tuple[Address, ...], str], tuple[Address, str]] = {}
        for member, stands in self.stands.items():
            for before, after in pairwise(stands):
                passage = (before.view.id, after.view.id, _side_of(member, after.view), before.then)
                other, digest = first.setdefault(passage, (member, after.digest))
                if digest != after.digest:
                    yield (
                        f"{member} and {other} went from {before.view.id} to {after.view.id} together,"
                        f" from one state to different ones"
                    )


def _side_of(member: Address, view: View) -> tuple[Address, ...]:
    return next((side for side in view.subgroups if member in side), ())
