"""The stories that ringcast must survive, by id, and where the tests tell them.

A story is told where its id stands: in the name of a test (`test_o06_…`), in the words of a test file (a docstring, the
id of a parameter), or in a scenario file. Not a proof that the test is good: only that somebody wrote it for this.
"""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

_FILE = Path(__file__).with_name("scenario_ids.txt")
_LINES = [line for line in _FILE.read_text().splitlines() if line and not line.startswith("#")]

STORIES = tuple(name for line in _LINES for name in line.partition(" - ")[0].split())
DOES_NOT_APPLY = {line.partition(" - ")[0]: line.partition(" - ")[2] for line in _LINES if " - " in line}

_LISTED = re.compile(r"^- \*\*([A-Z]\d+)\*\*", re.MULTILINE)
_WORD = re.compile(r"(?<![A-Za-z0-9])([A-Z]\d{1,2})(?![A-Za-z0-9])")
_TEST_NAME = re.compile(r"def (test_\w+)")
_IN_NAME = re.compile(r"(?<=_)([a-z]\d{1,2})(?=_|$)")


def listed_in(text: str) -> list[str]:
    """The ids of a list of stories, in its order."""
    return _LISTED.findall(text)


def told_in(tests: Path) -> dict[str, list[Path]]:
    """Every id that a test or a scenario file names, and where."""
    found: dict[str, list[Path]] = {}
    for file in sorted([*tests.rglob("test_*.py"), *tests.rglob("testdata/**/*.txt")]):
        if file.name != "test_scenario_ids.py":
            for name in dict.fromkeys(_ids(file.read_text())):
                found.setdefault(name, []).append(file)
    return found


def _ids(text: str) -> Iterator[str]:
    yield from _WORD.findall(text)
    for test in _TEST_NAME.findall(text):
        yield from (name.upper() for name in _IN_NAME.findall(test))


def untold(tests: Path, stories: Iterable[str] = STORIES) -> list[str]:
    told = told_in(tests)
    return [story for story in stories if story not in told and story not in DOES_NOT_APPLY]
