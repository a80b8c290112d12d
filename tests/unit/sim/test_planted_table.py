"""The table of planted bugs, and the page that keeps it."""

from pathlib import Path

import pytest

from ringcast.errors import UsageError
from ringcast.sim import KNOWN, known
from ringcast.sim.planted import CANDIDATES, Caught, options_for, refresh, table_of

PAGE = Path(__file__).resolve().parents[3] / "docs" / "design" / "planted-bugs.md"

# Mistakes that are known from other systems of this kind, and the names they have here.
FAMOUS = {
    "ack from a stranger creates an entry": "an ack from a stranger creates an entry",
    "purge without the silent member": "purge without the silent member",
    "hearsay digest": "a coordinator speaks for its members in a merge",
    "own entry overwritten in a merge": "the own entry is overwritten in a merge",
    "view behind a full window": "a view waits behind a full window",
    "tail loss": "the tail is never announced",
    "suspicion lost while suspended": "a suspicion discarded while suspended is not raised again",
    "Resumer not armed": "the Resumer is not armed",
    "merge starting during a view change": "a merge starts during a view change",
    "tie broken by local id": "a tie is broken by the local id",
    "staged message of a dead sender kept": "a staged message of a dead sender is kept",
    "seqno taken before there is room": "the seqno is taken before there is room",
}


def test_there_are_more_than_twenty_and_the_famous_ones_among_them() -> None:
    assert len(KNOWN) >= 27
    assert {bug.name for bug in (*KNOWN, *CANDIDATES)} >= set(FAMOUS.values()), "caught, or known to be hidden"


def test_the_page_has_a_row_for_each_bug_that_says_it_was_caught_in_time() -> None:
    rows = {cells[1]: cells for line in PAGE.read_text().splitlines() if len(cells := _cells(line)) == 7}
    for bug in KNOWN:
        _, name, guarantee, needed, stated, *_ = rows[bug.name]
        assert (name, guarantee, int(stated)) == (bug.name, bug.guarantee, bug.seeds)
        assert int(needed) <= bug.seeds


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.split("|")]


def test_a_row_says_what_was_seen_and_after_how_many_seeds() -> None:
    bug = known("the_tail_is_never_announced")
    row = f"| {bug.name} | liveness | {{}} | {bug.seeds} | `Outgoing.on_interval` |"
    assert table_of([Caught(bug, 3)]).splitlines()[-1] == row.format(3)
    assert table_of([Caught(bug, None)]).splitlines()[-1] == row.format("not caught")


def test_a_page_is_refreshed_between_its_marks(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- table: begin -->\nold\n<!-- table: end -->\nafter\n")
    refresh(page, [Caught(KNOWN[0], 1)])
    text = page.read_text()
    assert text.startswith("before\n") and text.endswith("after\n") and "old" not in text
    assert KNOWN[0].name in text


def test_a_page_without_marks_is_an_error(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("nothing here")
    with pytest.raises(UsageError, match="no place for the table"):
        refresh(page, [])


def test_a_bug_that_names_kinds_of_faults_is_looked_for_among_those_only() -> None:
    bug = known("a merge starts during a view change")
    options = options_for(bug, 3)
    assert len(options.faults) >= 5
    assert {fault.kind for fault in options.faults} <= set(bug.kinds)


def test_a_name_that_is_unknown_is_answered_with_those_that_are_known() -> None:
    with pytest.raises(UsageError, match="there is no planted bug 'gone'; known are: purge without"):
        known("gone")


def test_candidates_are_not_counted_as_caught() -> None:
    assert not {bug.name for bug in CANDIDATES} & {bug.name for bug in KNOWN}


# Members refuse a view that is not at their cut or sets a stream back, so what would break these shows as liveness.
REFUSED_BEFORE_BROKEN = {"G5", "G9"}


def test_every_guarantee_is_broken_by_some_bug() -> None:
    broken = {bug.guarantee for bug in KNOWN}
    assert {f"G{number}" for number in range(1, 15)} - broken == REFUSED_BEFORE_BROKEN
