"""Simulated runs, good ones and bad ones with a planted bug, about which checkers and rules must say the same.

A few runs in every `make test`; `make agreement` makes it three hundred and more (RINGCAST_AGREEMENT_RUNS).
"""

from __future__ import annotations

import os
from contextlib import nullcontext
from pathlib import Path

from ringcast.sim import Outcome, draw, simulate
from ringcast.sim.planted import CANDIDATES, KNOWN, Planted, options_for, plant

ASKED = int(os.environ.get("RINGCAST_AGREEMENT_RUNS", "0"))  # by `make agreement`
FIRST_SEED = int(os.environ.get("RINGCAST_AGREEMENT_FIRST_SEED", "0"))
ALWAYS = ("G7", "G15", "G16", "G18")  # bugs that break one of these are in the few runs of `make test`
BUGS = sorted(
    # Whoever starts again in a fixed group has the same address, and would write into the same recording.
    (bug for bug in (*KNOWN, *CANDIDATES) if bug.guarantee.startswith("G") and not bug.fixed),
    key=lambda bug: bug.guarantee not in ALWAYS,
)


def bug_of(number: int) -> Planted | None:
    """Every third run is good; the bad ones take turns among the bugs that break a guarantee."""
    return BUGS[(number - number // 3 - 1) % len(BUGS)] if number % 3 else None


def name_of(number: int) -> str:
    bug = bug_of(number)
    return f"seed {FIRST_SEED + number} ({bug.name if bug else 'good'})"


def run(number: int, record: Path) -> Outcome:
    """Simulated, recorded, and judged by the checkers."""
    bug, seed = bug_of(number), FIRST_SEED + number
    with plant(bug) if bug else nullcontext():
        return simulate(options_for(bug, seed) if bug else draw(seed, (2, 5)), record)
