"""Members that do not hear each other although everybody else hears both: one of them has to go, or the group stands.

A complaint (by, about) lives as long as it is repeated. One that has lasted for the limit names a culprit: the member
that appears in most living complaints, as who cannot hear or as who is not heard; of equals the later in the view.
So a member whose own ears are broken goes itself, and not everybody it complains about.
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

    def on_complaint(self, now_ns: int, by: Address, about: Address) -> None:
        first, _ = self._spans.get((by, about), (now_ns, now_ns))
        self._spans[by, about] = (first, now_ns)

    def culprit(self, now_ns: int, view: View) -> Address | None:
        """Who has to go now, if anybody."""
        self._forget(now_ns, view)
        if all(now_ns - first < self.limit_ns for first, _ in self._spans.values()):
            return None
        counts = dict.fromkeys(view.members, 0)
        for by, about in self._spans:
            counts[by] += 1
            counts[about] += 1
        return max(view.members, key=lambda member: (counts[member], view.rank(member)))

    def _forget(self, now_ns: int, view: View) -> None:
        self._spans = {
            (by, about): (first, last)
            for (by, about), (first, last) in self._spans.items()
            if now_ns - last < self.forget_ns and by in view and about in view
        }
