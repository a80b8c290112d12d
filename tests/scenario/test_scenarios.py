"""Every scenario file says today what it said when it was reviewed.

RINGCAST_UPDATE_SCENARIOS=1 rewrites the files with what is said now; review the difference before you keep it.
"""

import os
from pathlib import Path

import pytest

from ringcast.sim import Stage, play

FILES = sorted((Path(__file__).parent / "testdata").glob("*.txt"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_the_story_is_as_it_was_told(file: Path) -> None:
    text = file.read_text()
    said = play(text, Stage().act)
    if os.environ.get("RINGCAST_UPDATE_SCENARIOS", "0") not in ("", "0"):
        file.write_text(said)
    assert said == text or os.environ.get("RINGCAST_UPDATE_SCENARIOS")


def test_there_are_stories() -> None:
    assert len(FILES) >= 5
