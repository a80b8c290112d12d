"""Known mistakes are caught, as what they are said to be, within the seeds that they state.

Here a few of each kind; `make planted` looks for all of them and keeps the table of docs/design/planted-bugs.md.
"""

import os
from pathlib import Path

import pytest

from ringcast.sim import KNOWN, Stage, hunt, known, play
from ringcast.sim.planted import Planted

FEW = (
    "purge without the silent member",
    "the tail is never announced",
    "a lost last ack is not repeated",
    "one message more than the window has slots",
    "the seqno is taken before there is room",
    "a view is named after who led before",
    "a coordinator speaks for its members in a merge",
    "a merge repeats the last message",
    "a message has its place before all have staged it",
    "a staged message of a dead sender is kept",
    "the state is cut behind the first messages of the view",
    "a joiner reads its view before its state",
    "a run counts as taken before it is handed over",
    "an ordered message is lost behind its place",
    "who waits for room is not woken",
    "what the window did not take at the end of a turn is forgotten",
    "a send that waited goes out under the next incarnation",
    "who leaves a loop takes the rest of the run with it",
    "the last receipt of a run is never finished",
    "the state ends before its last part is read",
    "a side keeps its own state after a merge",
)
BUGS = KNOWN if os.environ.get("RINGCAST_LONG") == "1" else [known(name) for name in FEW]


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name)
def test_a_planted_bug_is_caught_within_its_seeds(bug: Planted) -> None:
    caught = hunt(bug)
    assert caught.is_caught, f"{bug.name} was not seen as {bug.guarantee} in {bug.seeds} seeds"


SHRUNK = Path(__file__).parent / "testdata" / "planted_view_id.txt"


def test_a_run_that_was_made_small_still_fails_with_its_bug_and_holds_without() -> None:
    with_bug, without = play(SHRUNK.read_text(), Stage().act).split("\n\n")
    assert "\nG4: " in with_bug
    assert without.endswith("----\ngood\n")
