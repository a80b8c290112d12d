"""Looking for planted bugs: seed after seed, until what each says it breaks is seen to be broken."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ringcast.sim.batch import spawned
from ringcast.sim.fault_draws import survivable
from ringcast.sim.options import Options, draw, narrowed
from ringcast.sim.planted.planting import Planted, plant
from ringcast.sim.policies import Policy
from ringcast.sim.run import Outcome, simulate


@dataclass(frozen=True, slots=True)
class Caught:
    """What became of a planted bug. `seen` = what failed: guarantees, or one of check, contents, liveness, storm."""

    bug: Planted
    seeds_needed: int | None
    seen: tuple[str, ...] = ()
    sentence: str = ""

    @property
    def is_caught(self) -> bool:
        return self.seeds_needed is not None and self.seeds_needed <= self.bug.seeds

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.bug.name,
            "guarantee": self.bug.guarantee,
            "caught": self.is_caught,
            "seeds_needed": self.seeds_needed,
            "seen": list(self.seen),
            "sentence": self.sentence,
        }


def hunt(bug: Planted, members: tuple[int, int] = (2, 5), likely: int = 1) -> Caught:
    """Run seeds from 0 on, at most as many as the bug states, until it shows as what it states.

    `likely`: how many seeds it needed before; the last of them is tried first.
    """
    with plant(bug):
        for seed in dict.fromkeys([min(likely, bug.seeds) - 1, *range(bug.seeds)]):
            outcome = simulate(options_for(bug, seed, members))
            if bug.guarantee in outcome.failed:
                return Caught(bug, seed + 1, outcome.failed, _telling(bug, outcome))
    return Caught(bug, None)


def options_for(bug: Planted, seed: int, members: tuple[int, int] = (2, 5)) -> Options:
    """The run in which a bug is looked for with this seed."""
    options = draw(seed, members, fixed=bug.fixed, workload=bug.workload)
    policy = (bug.policy or Policy()).of(options.members)
    options = replace(options, policy=policy, faults=survivable(options.faults, options.members, policy))
    return narrowed(options, bug.kinds, bug.lengths_ms) if bug.kinds else options


def hunt_all(bugs: Sequence[Planted], processes: int | None = None) -> Iterator[Caught]:
    """What became of each, in the order given; over all cores, each bug in a process of its own."""
    processes = min(processes or os.cpu_count() or 1, len(bugs))
    if processes <= 1:
        yield from map(hunt, bugs)
        return
    with spawned(processes) as pool:
        yield from pool.imap(hunt, bugs, chunksize=1)


def _telling(bug: Planted, outcome: Outcome) -> str:
    return next(sentence for sentence in outcome.sentences if sentence.startswith(f"{bug.guarantee}:"))
