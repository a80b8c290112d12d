"""Members on different clocks, laid side by side: times are moved so that a view they share happens at one moment.

Good enough to draw a run; never good enough to judge one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ringcast.model import Event, Kind, ViewId


def shifts(events: Iterable[tuple[str, Event]]) -> dict[str, int]:
    """What to add to each clock, so that the first view that it shares with an earlier one happens at one moment."""
    installed: dict[str, dict[ViewId, int]] = {}
    for clock, event in events:
        views = installed.setdefault(clock, {})
        if event.kind is Kind.VIEW and event.view is not None:
            views.setdefault(event.view, event.t_ns)
    added: dict[str, int] = {}
    for clock in installed:
        added[clock] = _shift(installed, added, clock)
    return added


def _shift(installed: Mapping[str, Mapping[ViewId, int]], added: Mapping[str, int], clock: str) -> int:
    for other, shift in added.items():
        for view, t_ns in installed[clock].items():
            if view in installed[other]:
                return installed[other][view] + shift - t_ns
    return 0
