"""Members that do not hear each other although others hear both: one of each pair has to go, or the group stands.

A complaint (by, about) lives as long as it is repeated. One that was repeated for the limit names a culprit: the member
that appears in most living complaints, as who cannot hear or as who is not heard; of equals an observer, then the later
in the view. Without it the rest is judged again, so that one view settles several bad links. Everybody who knows the
same complaints finds the same culprits, the culprit included: a coordinator counts what is said about itself.
"""

from __future__ import annotations

from ringcast.model import Address, View


class Complaints:
    def __init__(self, limit_ns: int, repeat_ns: int) -> None:
        self.limit_ns = limit_ns
        self.forget_ns = 3 * repeat_ns
        self._spans: dict[tuple[Address, Address], tuple[int, int]] = {}  # (by, about) -> first and last time

    def __len__(self) -> int:
        return len(self._spans)

    def __contains__(self, member: Address) -> bool:
        """Does somebody not hear it, or does it not hear somebody?"""
        return any(member in pair for pair in self._spans)

    def has_lasted(self, member: Address) -> bool:
        """Was a complaint with it repeated? One alone may be of a member that then heard nobody any more."""
        return any(
            member in pair and 2 * (last - first) >= self.limit_ns for pair, (first, last) in self._spans.items()
        )

    def on_complaint(self, now_ns: int, by: Address, about: Address) -> None:
        first, _ = self._spans.get((by, about), (now_ns, now_ns))
        self._spans[by, about] = (first, now_ns)

    def withdraw(self, by: Address, about: Address) -> None:
        self._spans.pop((by, about), None)

    def forgive(self, now_ns: int, slept_ns: int) -> None:
        """We slept ourselves: what was not repeated meanwhile may have been repeated."""
        for pair, (first, last) in self._spans.items():
            self._spans[pair] = (min(now_ns, first + slept_ns), min(now_ns, last + slept_ns))

    def culprits(self, now_ns: int, view: View) -> tuple[Address, ...]:
        """Who has to go now, if anybody."""
        self.forget(now_ns, view)
        found: list[Address] = []
        spans = self._spans
        while any(last - first >= self.limit_ns for first, last in spans.values()):
            counts = dict.fromkeys(view.members, 0)
            for by, about in spans:
                counts[by] += 1
                counts[about] += 1
            worst = max(view.members, key=lambda m: (counts[m], m in view.observers, view.rank(m)))
            found.append(worst)
            spans = {pair: span for pair, span in spans.items() if worst not in pair}
        return tuple(found)

    def forget(self, now_ns: int, view: View) -> None:
        """What is no longer repeated, and what concerns members that are gone."""
        self._spans = {
            (by, about): (first, last)
            for (by, about), (first, last) in self._spans.items()
            if now_ns - last < self.forget_ns and by in view and about in view
        }
