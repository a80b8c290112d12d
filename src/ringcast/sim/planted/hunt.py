"""Looking for a planted bug: seed after seed, until something is seen to fail."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ringcast.sim.options import draw
from ringcast.sim.planted.planting import Planted, plant
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


def hunt(bug: Planted, members: tuple[int, int] = (2, 5)) -> Caught:
    """Run seeds from 0 on, at most as many as the bug states, until it shows as what it states."""
    with plant(bug):
        for seed in range(bug.seeds):
            outcome = simulate(draw(seed, members, fixed=bug.fixed))
            if bug.guarantee in outcome.failed:
                return Caught(bug, seed + 1, outcome.failed, _telling(bug, outcome))
    return Caught(bug, None)


def _telling(bug: Planted, outcome: Outcome) -> str:
    return next(sentence for sentence in outcome.sentences if sentence.startswith(f"{bug.guarantee}:"))
