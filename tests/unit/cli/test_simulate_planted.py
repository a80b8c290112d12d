"""`ringcast simulate` with planted bugs: one in one seed, all of them, and one that nobody can catch."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

import ringcast.cli.simulate as command
from ringcast.cli.app import run
from ringcast.sim import Stage, known, play

QUICK = known("the seqno is taken before there is room")
HARMLESS = replace(QUICK, name="nothing at all", wrong=QUICK.right, seeds=1)


def test_all_bugs_are_hunted_and_told_with_the_promised_keys(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "KNOWN", (QUICK,))
    assert run(["simulate", "--planted-bugs", "--json"]) == 0
    said = capsys.readouterr()
    (bug,) = json.loads(said.out)["planted_bugs"]
    assert {"name", "guarantee", "caught", "seeds_needed"} <= bug.keys()
    assert (bug["name"], bug["guarantee"], bug["caught"]) == (QUICK.name, "check", True)
    assert 1 <= bug["seeds_needed"] <= QUICK.seeds
    assert QUICK.name in said.err


def test_a_bug_that_is_not_caught_makes_the_command_fail(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "KNOWN", (HARMLESS,))
    assert run(["simulate", "--planted-bugs"]) == 1
    assert "NOT CAUGHT" in capsys.readouterr().out


def test_the_table_of_a_page_is_refreshed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "page.md"
    page.write_text("<!-- table: begin -->\n<!-- table: end -->\n")
    monkeypatch.setattr(command, "KNOWN", (QUICK,))
    assert run(["simulate", "--planted-bugs", "--table", str(page)]) == 0
    assert f"| {QUICK.name} | check | " in page.read_text()


def test_a_bug_planted_into_one_seed_fails_it_and_is_gone_afterwards(capsys: pytest.CaptureFixture[str]) -> None:
    seed = ["simulate", "--seed", "0", "--members", "2", "--fixed", "--json"]
    assert run([*seed, "--plant", QUICK.name]) == 1
    assert "check: " in json.loads(capsys.readouterr().out)["failures"][0]["sentences"][0]
    assert run(seed) == 0


def test_a_planted_failure_is_made_small_and_written_as_a_scenario_that_plants_it_again(tmp_path: Path) -> None:
    arguments = ["simulate", "--seed", "0", "--members", "2", "--fixed", "--plant", QUICK.name, "--shrink"]
    assert run([*arguments, "--record", str(tmp_path)]) == 1
    text = (tmp_path / "seed-0.txt").read_text()
    assert "simulate planted=the_seqno_is_taken_before_there_is_room" in text
    assert play(text, Stage().act) == text


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--plant", QUICK.name], "--shrink and --plant are for one run: name it with --seed"),
        (["--seed", "0", "--plant", "gone"], "there is no planted bug 'gone'"),
    ],
)
def test_planting_what_is_unknown_or_into_many_seeds_is_a_mistake(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["simulate", *arguments]) == 2
    assert said in capsys.readouterr().err
