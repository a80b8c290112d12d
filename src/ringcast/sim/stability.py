"""How many views a run had, and whether they had a cause (G14).

After the heal, from the moment on at which all who live share one view, nobody who lives is excluded any more. Over the
whole run there are at most as many views as its faults can explain: a fault takes members away and brings them back,
some of them one by one; a bad link that lasts does so again and again, with a pause that doubles up to
`readmit_max_ns`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ringcast.checkers import Installed, installed
from ringcast.model import Address, Kind
from ringcast.sim.faults import Fault
from ringcast.trace import Recording, is_harness

VIEWS_PER_FAULT = 8
VIEWS_PER_MEMBER = 2  # it joins, perhaps with others; and it comes back after the heal
VIEWS_PER_PERIOD = 4


@dataclass(frozen=True, slots=True)
class _View:
    t_ns: int
    member: Address
    content: Installed


def views_of(recordings: Iterable[Recording]) -> list[_View]:
    """Every installation, in the order of time."""
    found = [
        _View(event.t_ns, recording.member, installed(event))
        for recording in recordings
        if not is_harness(recording.member)
        for event in recording.events
        if event.kind is Kind.VIEW
    ]
    return sorted(found, key=lambda view: view.t_ns)


def count_of(views: Iterable[_View]) -> int:
    return len({view.content.id for view in views})


def most_views(faults: Iterable[Fault], members: int, starts: int, period_ns: int) -> int:
    """So many views a run with these faults may have at most; `starts`: processes that began."""
    lasting = sum(
        VIEWS_PER_FAULT + VIEWS_PER_PERIOD * ((fault.until_ns - fault.at_ns) // period_ns) for fault in faults
    )
    return lasting + VIEWS_PER_MEMBER * max(members, starts)


def excluded(views: list[_View], heal_ns: int, live: list[Address]) -> Iterator[str]:
    """A sentence for each view without one who lives, installed after all who live had shared one."""
    held: dict[Address, Installed] = {}
    are_together = False
    for view in views:
        if view.member not in live:
            continue
        held[view.member] = view.content
        gone = [member for member in live if member not in view.content.members]
        if are_together and gone:
            after = f"{(view.t_ns - heal_ns) / 1e9:.1f} s after the heal"
            yield f"{view.member} installed {view.content.id} without {gone[0]}, which lives, {after}"
        are_together = are_together or (
            view.t_ns >= heal_ns
            and len(held) == len(live)
            and all(content.id == view.content.id for content in held.values())
            and sorted(view.content.members) == sorted(live)
        )
