"""`ringcast simulate`: one seed, many seeds, mistakes."""

import json
from pathlib import Path

import pytest

from ringcast.cli.app import run


def test_one_seed_is_told_and_hashed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["simulate", "--seed", "4", "--fixed", "--members", "2"]) == 0
    said = capsys.readouterr().out
    assert "installs view" in said
    assert "trace hash" in said
    assert said.rstrip().endswith("nothing was violated")


def test_one_seed_as_json_is_one_object_with_the_promised_keys(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["simulate", "--seed", "4", "--fixed", "--members", "2..2", "--json"]
    assert run([*arguments, "--record", str(tmp_path)]) == 0
    first = json.loads(capsys.readouterr().out)
    keys = {"runs", "violations", "failed_seeds", "simulated_seconds", "faults", "guarantees", "trace_hash"}
    assert keys <= first.keys()
    assert (first["runs"], first["violations"], first["failed_seeds"]) == (1, 0, [])
    assert first["guarantees"]["G1"]["examined"] > 0
    assert run(arguments) == 0
    assert json.loads(capsys.readouterr().out)["trace_hash"] == first["trace_hash"]
    assert run(["check", str(tmp_path / "seed-4"), "--checkers", "--require", "G1,G2,G3"]) == 0


def test_many_seeds_run_and_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["simulate", "--first-seed", "3", "--seeds", "2", "--fixed", "--members", "2", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["runs"] == 2


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--members", "5..2"], "the smaller number first"),
        (["--members", "x"], "neither a number of members nor a range"),
        (["--seed", "1", "--seeds", "2"], "choose one of them"),
        (["--shrink"], "name it with --seed"),
        (["--fixed", "--workload", "state"], "leave one out"),
        (["--seed", "-1"], "-1"),
    ],
)
def test_a_mistake_is_one_sentence_and_exit_code_2(
    arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["simulate", *arguments]) == 2
    heard = capsys.readouterr()
    assert heard.out == ""
    assert sentence in heard.err
    assert "Traceback" not in heard.err


def test_a_run_that_does_not_fail_is_not_shrunk(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["simulate", "--seed", "4", "--fixed", "--members", "2", "--shrink", "--record", str(tmp_path)]
    assert run(arguments) == 0
    assert "nothing to shrink" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_batch_goes_on_where_it_was(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    few = [
        "simulate",
        "--fixed",
        "--members",
        "2",
        "--processes",
        "1",
        "--resume",
        str(tmp_path / "seeds.jsonl"),
        "--json",
    ]
    assert run([*few, "--seeds", "2"]) == 0
    first = json.loads(capsys.readouterr().out)
    assert run([*few, "--seeds", "3"]) == 0
    told = capsys.readouterr()
    both = json.loads(told.out)
    assert (first["runs"], both["runs"]) == (2, 3)
    assert "2 of 3 seeds are in" in told.err and "1 are left" in told.err
    assert both["per_run"]["seconds_under_faults"]["min"] >= 10
    assert list(both["resume_causes"]) == [
        "view installed or failed",
        "merge ended",
        "merge view or leader gone",
        "resumer",
    ]


def test_a_master_without_spark_is_a_mistake(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["simulate", "--seeds", "1", "--master", "local[1]"]) == 2
    assert "--master names where Spark runs" in capsys.readouterr().err
