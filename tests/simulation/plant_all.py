"""Plant every known mistake once: a sentence for each that no longer matches the code it edits, then how many apply.

`--names` prints the name of each instead.
"""

from __future__ import annotations

import sys

from ringcast.errors import UsageError
from ringcast.sim.planted import CANDIDATES, KNOWN, Planted, plant
from simulation.planted_elsewhere import ELSEWHERE
from simulation.test_primary_planted import MISTAKES


def all_bugs() -> list[Planted]:
    primary = [Planted(name, "G17", target, right, wrong, seeds=1) for _, name, target, right, wrong in MISTAKES]
    return [*KNOWN, *CANDIDATES, *(one.bug for one in ELSEWHERE), *primary]


def why_not(bug: Planted) -> str | None:
    try:
        with plant(bug):
            return None
    except (UsageError, ImportError, AttributeError) as error:
        return str(error)


def main() -> int:
    bugs = all_bugs()
    if "--names" in sys.argv[1:]:
        print(*(bug.name for bug in bugs), sep="\n")
        return 0
    lost = [why for bug in bugs if (why := why_not(bug)) is not None]
    print(*lost, f"{len(bugs) - len(lost)} of {len(bugs)} planted bugs apply", sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
