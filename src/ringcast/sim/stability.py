"""How many views a run had, and how many its faults explain (G14: views do not follow each other without a cause).

A fault takes members away and brings them back, some of them one by one; a bad link that lasts does so again and again,
with a pause that doubles up to `readmit_max_ns`. That nobody who lives is excluded after the heal is judged by the
checker of G14.
"""

from __future__ import annotations

from collections.abc import Iterable

from ringcast.model import Kind
from ringcast.sim.faults import Fault
from ringcast.trace import Recording

VIEWS_PER_FAULT = 8
VIEWS_PER_MEMBER = 2  # it joins, perhaps with others; and it comes back after the heal
VIEWS_PER_PERIOD = 4


def count_of_views(recordings: Iterable[Recording]) -> int:
    """How many different ones were installed."""
    return len({event.view for recording in recordings for event in recording.events if event.kind is Kind.VIEW})


def most_views(faults: Iterable[Fault], members: int, starts: int, period_ns: int) -> int:
    """So many views a run with these faults may have at most; `starts`: processes that began."""
    lasting = sum(
        VIEWS_PER_FAULT + VIEWS_PER_PERIOD * ((fault.until_ns - fault.at_ns) // period_ns) for fault in faults
    )
    return lasting + VIEWS_PER_MEMBER * max(members, starts)
