"""Making a failing run small: fewer faults, fewer members, shorter, simpler; as long as it fails in the same way.

Greedy: a change that keeps the failure is kept, and then everything is tried again, until nothing helps any more or the
allowed number of runs is used up. "In the same way" = one of the same words in front of a sentence (see run.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from ringcast.model import SECOND, profile
from ringcast.sim.fault_draws import survivable
from ringcast.sim.network import Link
from ringcast.sim.options import Options
from ringcast.sim.run import Outcome, simulate
from ringcast.sim.workload import Load
from ringcast.sim.world import names_of

MOST_RUNS = 200
SHORTEST_NS = SECOND // 2
_PLAIN_POLICIES: tuple[dict[str, Any], ...] = (
    {"observers": 0},
    {"partition": "all", "has_marks": False, "quorum": 0},
    {"own_configs": False},
    {"expects": False},
)


@dataclass(frozen=True, slots=True)
class Shrunk:
    options: Options
    outcome: Outcome
    runs: int


def shrink(options: Options, run: Callable[[Options], Outcome] = simulate, most_runs: int = MOST_RUNS) -> Shrunk:
    """The smallest run found that fails like this one; the run itself if it does not fail."""
    best, outcome, runs = options, run(options), 1
    wanted = set(outcome.failed)
    is_smaller = bool(wanted)
    while is_smaller:
        is_smaller = False
        for candidate in _smaller(best):
            if runs >= most_runs:
                break
            runs += 1
            tried = run(candidate)
            if wanted & set(tried.failed):
                best, outcome, is_smaller = candidate, tried, True
                break
    return Shrunk(best, outcome, runs)


def _smaller(options: Options) -> Iterator[Options]:
    """Ways to make it smaller, the boldest first."""
    half = len(options.faults) // 2
    if half:
        yield replace(options, faults=options.faults[:half])
        yield replace(options, faults=options.faults[half:])
    if options.members > 1:
        yield _with_members(options, options.members - 1)
    yield from _shorter(options)
    for index in range(len(options.faults)):
        yield options.without_fault(index)
    yield from _simpler(options)


def _with_members(options: Options, count: int) -> Options:
    names = names_of(count)
    faults = tuple(fault for fault in options.faults if all(member in names for member in fault.members))
    policy = options.policy.of(count)
    return replace(options, members=count, faults=survivable(faults, count, policy), policy=policy)


def _shorter(options: Options) -> Iterator[Options]:
    safety_ns = options.safety_ns // 2
    if safety_ns >= SHORTEST_NS:
        faults = tuple(
            replace(fault, until_ns=min(fault.until_ns, safety_ns))
            for fault in options.faults
            if fault.at_ns < safety_ns
        )
        yield replace(options, safety_ns=safety_ns, faults=faults)


def _simpler(options: Options) -> Iterator[Options]:
    plain = Options(options.seed)
    if options.link != Link():
        yield replace(options, link=Link())
    if options.config != profile("test"):
        yield replace(options, config=profile("test"))
    if options.load not in (plain.load, Load(private_share=0.0)):
        yield replace(options, load=Load(private_share=0.0))
        yield replace(options, load=Load())
    if options.multicasts:
        yield replace(options, multicasts=False)
    for value in _PLAIN_POLICIES:
        simpler = replace(options.policy, **value)
        if simpler != options.policy:
            yield replace(options, policy=simpler, faults=survivable(options.faults, options.members, simpler))
