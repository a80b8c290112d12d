"""Clocks of one name that disagree: what followed from something is stamped before it.

Two processes of one boot share a clock, unless a container moved it. Then times say nothing between them, and they are
judged like members on different clocks. What shows it, of the same two members: the first message of a view, sent and
delivered; a roll call, begun, promised to, and ended with the view that its asker made. A real process stamps an event
with the begin of its turn, so only more than `SLACK_NS` counts; a longer turn is taken for a clock, and accuses nobody.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping
from typing import Any, Generic, TypeAlias, TypeVar

from ringcast.trace import SIMULATED_CLOCK

SLACK_NS = 1_000_000_000
Member = TypeVar("Member", bound=Hashable)
Pairs: TypeAlias = set[frozenset[Member]]


class Clocks(Generic[Member]):
    """Moments of members, told in each one's own order; `clocks` are the names in their headers."""

    def __init__(self, clocks: Mapping[Member, str]) -> None:
        self._clocks = clocks
        self._sent: dict[tuple[Member, Hashable], int] = {}
        self._delivered: dict[tuple[Member, Member, Hashable], int] = {}
        self._begun: dict[str, tuple[Member, int]] = {}
        self._promised: dict[tuple[str, Member], int] = {}
        self._last_call: dict[Member, str] = {}
        self._made: dict[str, tuple[int, Collection[Member]]] = {}

    @property
    def is_needed(self) -> bool:
        """Are there two members of one clock that could disagree?"""
        names = [clock for clock in self._clocks.values() if clock != SIMULATED_CLOCK]
        return len(set(names)) < len(names)

    def sent(self, member: Member, view: Hashable, t_ns: int) -> None:
        self._sent.setdefault((member, view), t_ns)

    def delivered(self, member: Member, sender: Member, view: Hashable, t_ns: int) -> None:
        self._delivered.setdefault((member, sender, view), t_ns)

    def on_roll_call(self, member: Member, detail: Mapping[str, Any], t_ns: int) -> None:
        step, attempt = detail.get("step"), str(detail.get("id", ""))
        if step in ("start", "again"):
            self._begun.setdefault(attempt, (member, t_ns))
            self._last_call[member] = attempt
        elif step == "promise":
            self._promised.setdefault((attempt, member), t_ns)

    def on_view(self, member: Member, creator: Member, members: Collection[Member], t_ns: int) -> None:
        if member == creator and member in self._last_call:
            self._made.setdefault(self._last_call.pop(member), (t_ns, members))

    def names(self) -> dict[Member, str]:
        """The clock of each member; those that disagree, or that nothing shows to agree beside them, have others."""
        found = dict(self._clocks)
        apart, compared = self._compared() if self.is_needed else (set(), set())
        wrong = {found[member] for pair in apart for member in pair}
        classes: dict[str, list[Member]] = {}
        for member, clock in self._clocks.items():
            if clock not in wrong:
                continue
            number, name = 1, clock
            while name in classes and not self._fits(member, classes[name], apart, compared):
                number += 1
                name = f"{clock}, {number}"
            classes.setdefault(name, []).append(member)
            found[member] = name
        return found

    def _fits(self, member: Member, others: list[Member], apart: Pairs[Member], compared: Pairs[Member]) -> bool:
        pairs = [frozenset((member, other)) for other in others]
        return any(pair in compared for pair in pairs) and not any(pair in apart for pair in pairs)

    def _compared(self) -> tuple[Pairs[Member], Pairs[Member]]:
        """Pairs of which one did something more than `SLACK_NS` before what it followed from; all compared pairs."""
        steps = [
            (sender, self._sent[sender, view], member, t_ns)
            for (member, sender, view), t_ns in self._delivered.items()
            if (sender, view) in self._sent
        ]
        for (attempt, holder), t_ns in self._promised.items():
            asker, begun_ns = self._begun.get(attempt, (holder, t_ns))
            steps.append((asker, begun_ns, holder, t_ns))
            made_ns, members = self._made.get(attempt, (t_ns, ()))
            if holder in members:
                steps.append((holder, t_ns, asker, made_ns))
        steps = [step for step in steps if self._clocks.get(step[0]) == self._clocks.get(step[2]) != SIMULATED_CLOCK]
        apart = {frozenset((one, other)) for one, cause, other, effect in steps if effect + SLACK_NS < cause}
        return apart, {frozenset((one, other)) for one, _, other, _ in steps}
