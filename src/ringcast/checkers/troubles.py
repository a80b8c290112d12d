"""When injected faults held, as the harness recorded them. Used by checkers and rules alike.

Faults that end a process hold for a moment only. One whose end was not recorded holds on; HEAL `all` ends them all.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ringcast.model import Kind

_FOREVER_NS = 1 << 62
_MOMENTS = ("crash", "crashed", "death", "leave", "kill", "start")


class Troubles:
    """Fed with FAULT and HEAL in the order of each recording."""

    def __init__(self) -> None:
        self._spans: list[list[int]] = []
        self._open: dict[str, list[int]] = {}

    def add(self, t_ns: int, kind: int, detail: Mapping[str, Any]) -> None:
        what = str(detail.get("what"))
        name = f"{what} {detail.get('members')}"
        if kind == Kind.FAULT:
            if what not in _MOMENTS and not what.startswith("crash@"):
                self._open.setdefault(name, [t_ns, _FOREVER_NS])
                self._spans.append(self._open[name])
            return
        for ended in list(self._open) if what == "all" else [name]:
            span = self._open.pop(ended, None)
            if span is not None:
                span[1] = t_ns

    def is_quiet(self, since_ns: int, until_ns: int) -> bool:
        """No fault held in this time."""
        return not any(begin <= until_ns and end >= since_ns for begin, end in self._spans)
