"""Every story that must be survived is told by a test, and can be found by its id."""

from pathlib import Path

import pytest

from architecture.scenario_ids import DOES_NOT_APPLY, STORIES, listed_in, told_in, untold

TESTS = Path(__file__).resolve().parents[1]
LIST = TESTS.parents[1] / "shared" / "SCENARIOS.md"


def test_every_story_is_told_by_a_test() -> None:
    assert untold(TESTS) == []


def test_a_story_that_is_said_not_to_apply_has_a_reason_and_no_test() -> None:
    told = told_in(TESTS)
    assert all(reason.strip() for reason in DOES_NOT_APPLY.values())
    assert [story for story in DOES_NOT_APPLY if story in told] == []


def test_each_story_is_listed_once() -> None:
    assert len(set(STORIES)) == len(STORIES)


@pytest.mark.skipif(not LIST.exists(), reason="the list of stories is not beside this checkout")
def test_the_stories_are_those_of_the_list() -> None:
    assert sorted(listed_in(LIST.read_text())) == sorted(STORIES)


def test_ids_are_found_in_names_in_words_and_in_scenario_files(tmp_path: Path) -> None:
    (tmp_path / "test_one.py").write_text('def test_o06_two_sides() -> None:\n    """W01, and P08."""\n')
    (tmp_path / "testdata").mkdir()
    (tmp_path / "testdata" / "x.txt").write_text("# X8: below low\n")
    (tmp_path / "notes.py").write_text("# M01\n")
    assert sorted(told_in(tmp_path)) == ["O06", "P08", "W01", "X8"]
    assert untold(tmp_path, ["W01", "M01", "X8"]) == ["M01"]


def test_what_only_looks_like_an_id_is_none(tmp_path: Path) -> None:
    (tmp_path / "test_one.py").write_text("def test_go_06() -> None:\n    AW01, W012 = 1, 2\n")
    assert "W01" not in told_in(tmp_path)
