"""When injected faults held, as the harness recorded them. Used by checkers, rules and the simulator alike.

Faults that end a process hold for a moment only. One whose end was not recorded holds on; HEAL `all` ends them all.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ringcast.model import Kind

_FOREVER_NS = 1 << 62
_MILLION = 1_000_000
_MOMENTS = ("crash", "crashed", "death", "leave", "kill", "start")


@dataclass(slots=True)
class Span:
    """Nobody named: everybody's."""

    what: str
    members: list[str]
    begin_ns: int
    amount: Any
    end_ns: int = _FOREVER_NS


class Troubles:
    """Fed with FAULT and HEAL in the order of each recording."""

    def __init__(self) -> None:
        self.spans: list[Span] = []
        self._open: dict[str, list[Span]] = {}  # one on top of another of its kind is a span of its own

    def add(self, t_ns: int, kind: int, detail: Mapping[str, Any]) -> None:
        what, members = str(detail.get("what")), detail.get("members")
        name = f"{what} {members} {detail.get('amount')}"
        if kind == Kind.FAULT:
            if what not in _MOMENTS and not what.startswith("crash@"):
                span = Span(what, list(members or []), t_ns, detail.get("amount"))
                self._open.setdefault(name, []).append(span)
                self.spans.append(span)
        elif what == "all":
            for span in [span for spans in self._open.values() for span in spans]:
                span.end_ns = t_ns
            self._open.clear()
        elif self._open.get(name):
            self._open[name].pop().end_ns = t_ns

    def is_quiet(self, since_ns: int, until_ns: int) -> bool:
        """No fault held in this time."""
        return not any(span.begin_ns <= until_ns and span.end_ns >= since_ns for span in self.spans)

    def passed_ns(self, name: str, since_ns: int, until_ns: int) -> int:
        """How much passed at most on this member's clock: one that runs fast gains so many parts in a million."""
        passed_ns = until_ns - since_ns
        for span in self.spans:
            if span.what == "clock" and span.amount and (not span.members or name in span.members):
                held_ns = max(0, min(span.end_ns, until_ns) - max(span.begin_ns, since_ns))
                passed_ns += held_ns * max(0, int(span.amount)) // _MILLION
        return passed_ns
