"""What the pages on security claim: each named test is there, each row names one, each bound has its default."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

from ringcast.transport import StrangerLimits

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "threat-model.md").read_text()
PAGES = [PAGE, (ROOT / "SECURITY.md").read_text(), (ROOT / "docs" / "design" / "security.md").read_text()]
NOT_PREVENTED = "not prevented"


def names_of_tests() -> set[str]:
    found: set[str] = set()
    for file in (ROOT / "tests").rglob("test_*.py"):
        found |= set(re.findall(r"^(?:async )?def (test_\w+)\(", file.read_text(), re.MULTILINE))
    return found


def test_each_test_that_is_named_is_there() -> None:
    named = {name for page in PAGES for name in re.findall(r"`(test_\w+)`", page)}
    assert len(named) > 50
    assert sorted(named - names_of_tests()) == []


def test_each_row_of_a_claim_names_what_shows_it() -> None:
    claims = [table for table in PAGE.split("\n\n") if "| shown by |" in table]
    rows = [row for table in claims for row in table.splitlines()[2:]]
    assert len(rows) > 25
    assert [row for row in rows if "`test_" not in row.split("|")[-2] and NOT_PREVENTED not in row] == []


def test_each_bound_on_strangers_stands_there_with_its_default() -> None:
    defaults = {spec.name: str(getattr(StrangerLimits(), spec.name)) for spec in fields(StrangerLimits)}
    assert dict(re.findall(r"^\| `(\w+)` \| ([\d.]+) \|", PAGE, re.MULTILINE)) == defaults
