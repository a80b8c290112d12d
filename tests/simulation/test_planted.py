"""Known mistakes are caught, as what they are said to be, within the seeds that they state.

Here the whole table, each bug first with the seed that showed it when docs/design/planted-bugs.md was made by
`make planted`; RINGCAST_LONG=1 looks from seed 0 on.
"""

import os
from pathlib import Path

import pytest

from ringcast.sim import KNOWN, Stage, hunt, play
from ringcast.sim.planted import Planted

IS_LONG = os.environ.get("RINGCAST_LONG") == "1"
PAGE = Path(__file__).resolve().parents[2] / "docs" / "design" / "planted-bugs.md"


def needed(bug: Planted) -> int:
    """How many seeds it took when the table was made."""
    row = next(line for line in PAGE.read_text().splitlines() if line.startswith(f"| {bug.name} |"))
    return int(row.split("|")[3])


@pytest.mark.parametrize("bug", KNOWN, ids=lambda bug: bug.name)
def test_a_planted_bug_is_caught_within_its_seeds(bug: Planted) -> None:
    caught = hunt(bug, likely=1 if IS_LONG else needed(bug))
    assert caught.is_caught, f"{bug.name} was not seen as {bug.guarantee} in {bug.seeds} seeds"


SHRUNK = Path(__file__).parent / "testdata" / "planted_view_id.txt"


def test_a_run_that_was_made_small_still_fails_with_its_bug_and_holds_without() -> None:
    with_bug, without = play(SHRUNK.read_text(), Stage().act).split("\n\n")
    assert "\nG4: " in with_bug
    assert without.endswith("----\ngood\n")
