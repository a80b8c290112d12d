"""What a run was made of, in words, so that what was never drawn can be seen (summary.py counts)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from ringcast.model import SECOND
from ringcast.sim.faults import LASTING_KINDS
from ringcast.sim.options import Options
from ringcast.sim.stateful import LARGE

# With the zeros: whatever a seed can draw besides members, workload and faults.
POLICIES = (
    "observers",
    "primary with mark files",
    "primary with a quorum",
    "a config per member",
    "expect on restart",
    "merge_state",
    "a large state",
    "a slow set_state",
    "a state that fails half way",
    "IP multicast",
)


@dataclass(slots=True)
class Drawn:
    """One run: the words of POLICIES that it drew, and the seconds of the longest fault of each kind."""

    policies: list[str] = field(default_factory=list)
    longest: dict[str, float] = field(default_factory=dict)


def drawn_by(options: Options) -> Drawn:
    longest: dict[str, float] = {}
    for fault in options.faults:
        if fault.kind in LASTING_KINDS:
            seconds = (fault.until_ns - fault.at_ns) / SECOND
            longest[fault.kind] = max(longest.get(fault.kind, 0.0), seconds)
    return Drawn(list(_words(options)), longest)


def _words(options: Options) -> Iterator[str]:
    yield from options.policy.words()
    state = options.state
    if state is not None:
        if state.merges:
            yield "merge_state"
        if state.padding >= LARGE:
            yield "a large state"
        if state.loading_ns:
            yield "a slow set_state"
        if state.failing_share:
            yield "a state that fails half way"
    if options.multicasts:
        yield "IP multicast"
