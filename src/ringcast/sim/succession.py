"""What the applications' states were at each view, and whether they can be true: the verdict on state transfer.

What must be equal, and no more than that:

- the state that a joiner got, and the one that its provider had where it read the view at which it was cut (only who
  founds a group begins with a state of its own);
- the states of members that had the same state when they read one view, and went on to the next one together: they
  read the same messages in between (G5). Together: not as different sides of a merge, each of which ends for itself.

After a partition the sides' states differ, and stay different after the merge: nobody makes one of them here.
A reason for having no state must be true: who is told that nobody has it is in no view with one who long had; and where
nothing is wrong any more, parts do not fail to come.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

from ringcast.core import AwaitState
from ringcast.model import SECOND, Address, View, ViewId

NOBODY_HAS_IT = "nobody in the view has the state"
LONG_NS = 3 * SECOND  # longer than a roll call, in which whoever leads hears who has the state


@dataclass(frozen=True, slots=True)
class Stand:
    """The state with which an application read a view."""

    view: View
    digest: str


@dataclass(slots=True)
class Succession:
    """Notes of one run."""

    stands: dict[Address, list[Stand]] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    _got: list[tuple[Address, AwaitState, str]] = field(default_factory=list)
    _founders: list[Address] = field(default_factory=list)
    _since_ns: dict[Address, int] = field(default_factory=dict)  # who has a state, since when
    _silences: list[tuple[Address, int]] = field(default_factory=list)  # whose patience ended, and when it began
    _untrue: list[str] = field(default_factory=list)

    # ---- notes

    def note_state(self, member: Address, cut: AwaitState | None, digest: str, replaced: int, now_ns: int) -> None:
        """It has the state now: its provider's, or (None) that of a group that it founded."""
        self._since_ns[member] = now_ns
        self.counts["founded" if cut is None else "loaded"] += 1
        self.counts["replaced"] += replaced
        if cut is None:
            self._founders.append(member)
        else:
            self._got.append((member, cut, digest))

    def note_view(self, member: Address, view: View, digest: str) -> None:
        """Its application read this view. What it reads before the cut of its state is history, no state."""
        cut = next((cut for who, cut, _ in self._got if who == member), None)
        if cut is None or view.id >= cut.view or member in self.stands:
            self.stands.setdefault(member, []).append(Stand(view, digest))

    def note_refusal(self, member: Address, why: str, view: View, now_ns: int) -> None:
        """It will have no state, for this reason."""
        self.counts["refused"] += 1
        if why != NOBODY_HAS_IT:
            return
        for other in view.members:
            if other in self._since_ns and now_ns - self._since_ns[other] >= LONG_NS:
                self._untrue.append(f"{member} was told in {view.id} that nobody has the state, but {other} has it")

    def note_damage(self, member: Address, what: str) -> None:
        """What it got is no state, although it was told that it is whole."""
        self._untrue.append(f"{member} got what is no state, as if it were one: {what}")

    def note_silence(self, member: Address, since_ns: int) -> None:
        """No part came for too long."""
        self._silences.append((member, since_ns))

    # ---- the verdict

    def strange(self, heal_ns: int) -> Iterator[str]:
        """A sentence for each state that cannot be true, and for each reason."""
        yield from self._strange_gifts()
        yield from self._strange_founders()
        yield from self._strange_passages()
        yield from self._untrue
        for member, since_ns in self._silences:
            if since_ns >= heal_ns:
                yield f"{member} gave its state up, although nothing was wrong while it waited"

    def _strange_gifts(self) -> Iterator[str]:
        for joiner, cut, got in self._got:
            had = [stand.digest for stand in self.stands.get(cut.provider, []) if stand.view.id == cut.view]
            if had != [got]:
                yield f"{joiner} got a state for {cut.view} that {cut.provider} did not have there"

    def _strange_founders(self) -> Iterator[str]:
        for founder in self._founders:
            first = next((stand.view for stand in self.stands.get(founder, [])), None)
            if first is not None and len(first.members) > 1:
                yield f"{founder} began with a state of its own in {first.id}, where others were before it"

    def _strange_passages(self) -> Iterator[str]:
        first: dict[tuple[ViewId, ViewId, tuple[Address, ...], str], tuple[Address, str]] = {}
        for member, stands in self.stands.items():
            for before, after in pairwise(stands):
                passage = (before.view.id, after.view.id, _side_of(member, after.view), before.digest)
                other, digest = first.setdefault(passage, (member, after.digest))
                if digest != after.digest:
                    yield (
                        f"{member} and {other} went from {before.view.id} to {after.view.id} together,"
                        f" from one state to different ones"
                    )


def _side_of(member: Address, view: View) -> tuple[Address, ...]:
    return next((side for side in view.subgroups if member in side), ())
