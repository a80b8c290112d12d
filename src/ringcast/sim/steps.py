"""Crashes at a named step of a view change, a merge or a state transfer: `crash@merge:accept` and the like.

Such a fault waits from its beginning on; the first process (of its members, if any are named) that records the step
ends there: with `amount` 0 before anything that belongs to the step has left it, with 1 right behind it.
"""

from __future__ import annotations

from ringcast.model import Event, Kind
from ringcast.trace import detail_of

# What members record as they go: coordinators and those they ask, leaders and parties, givers and takers of states.
STEPS: dict[Kind, tuple[str, ...]] = {
    Kind.ROLL_CALL: ("start", "again", "promise", "refuse", "fill", "release", "end"),
    Kind.MERGE: ("start", "accept", "refuse", "call", "answer", "view", "end"),
    Kind.SUSPEND: ("view", "merge", "merge-request"),
    Kind.RESUME: ("view-installed", "view-failed", "merge-ended", "merge-view"),
    Kind.VIEW: ("installed",),
    Kind.STATE: ("cut", "given", "got", "merged", "loaded"),
    Kind.REUNION: ("begin", "merged", "loaded"),
}
_PREFIX = "crash@"


def _name(kind: Kind, step: str) -> str:
    return f"{_PREFIX}{kind.name.lower().replace('_', '-')}:{step}"


STEP_CRASHES = tuple(_name(kind, step) for kind, steps in STEPS.items() for step in steps)
STATE_STEPS = tuple(_name(kind, step) for kind in (Kind.STATE, Kind.REUNION) for step in STEPS[kind])


def step_of(event: Event) -> str | None:
    """The crash that is to happen at this event, if it is such a step."""
    if event.kind not in STEPS:
        return None
    detail = detail_of(event.detail)
    step = "installed" if event.kind is Kind.VIEW else detail.get("step") or detail.get("cause")
    return _name(event.kind, str(step))
