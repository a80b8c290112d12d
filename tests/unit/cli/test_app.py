"""The command line: exit codes, one sentence on errors, one JSON object when asked."""

import json
import logging
from pathlib import Path

import click
import pytest

from ringcast import __version__
from ringcast.cli import app as app_module
from ringcast.cli.app import run
from ringcast.cli.registry import BENCH, COMMANDS
from ringcast.errors import TransportError
from ringcast.trace import FileRecorder
from ringcast.trace.story import Story


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    return write(tmp_path, Story("ab").view("ab").passed("ab", "a", 4))


def write(root: Path, story: Story) -> Path:
    for recording in story.recordings():
        recorder = FileRecorder(root, recording.header)
        recorder.extend(list(recording.events)[1:-1])
        recorder.close(story.now_ns)
    return root


def test_version_and_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--version"]) == 0 and __version__ in capsys.readouterr().out
    assert run(["--help"]) == 0
    assert "Examples:" in capsys.readouterr().out


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_command_has_help_and_json(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([name, "--help"]) == 0
    assert "Usage: ringcast" in capsys.readouterr().out


def test_every_benchmark_has_json(capsys: pytest.CaptureFixture[str]) -> None:
    for name in BENCH:
        assert run(["bench", name, "--help"]) == 0
        assert "--json" in capsys.readouterr().out


@pytest.mark.parametrize(
    "line",
    [
        ["nonsense"],
        ["check"],
        ["check", "--nonsense", "x"],
        ["check", "does-not-exist"],
        ["check", ".", "--require", "G99"],
        ["trace", "head", "does-not-exist"],
        ["trace", "head", ".", "-n", "many"],
    ],
)
def test_what_cannot_run_gives_one_sentence_and_exit_code_2(
    line: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(line) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.startswith("ringcast: ") and err.count("\n") == 1 and "Traceback" not in err


def raising(error: BaseException) -> click.Command:
    @click.command()
    def command() -> None:
        raise error

    return command


@pytest.mark.parametrize(
    ("error", "says", "code"),
    [
        (TransportError("port 5000 is busy"), "port 5000 is busy", 2),
        (ModuleNotFoundError("x", name="pyspark.sql"), "ringcast[pipeline]", 2),
        (KeyError("oh"), "a bug in ringcast", 2),
        (KeyboardInterrupt(), "interrupted", 130),
    ],
)
def test_errors_become_sentences(
    error: BaseException, says: str, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(app_module.app, "get_command", lambda ctx, name: raising(error))
    assert run(["anything"]) == code
    assert says in capsys.readouterr().err


def test_a_bad_log_level_is_one_sentence(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("RINGCAST_LOG", "loud")
    assert run(["trace", "ls", "."]) == 2
    assert "RINGCAST_LOG must be one of" in capsys.readouterr().err


def test_the_log_is_quiet_unless_asked_for(recorded: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(["trace", "ls", str(recorded)])
    logging.getLogger("ringcast.test").info("hello")
    assert capsys.readouterr().err == ""
    run(["-v", "trace", "ls", str(recorded)])
    logging.getLogger("ringcast.test").info("hello")
    assert 'level=info logger=ringcast.test message="hello"' in capsys.readouterr().err


def test_check_prints_one_json_object(recorded: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", str(recorded), "--checkers", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["verdict"] == "held" and said["judge"] == "checkers" and said["dropped_events"] == 0
    assert said["guarantees"]["G1"].keys() >= {"verdict", "examined", "violations", "evidence"}
    assert list(said["guarantees"]) == [f"G{n}" for n in range(1, 19)]


def test_check_takes_uris_and_globs(recorded: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for judge in ("local", "checkers"):
        for place in (recorded.as_uri(), f"{str(recorded)[:-1]}*", f"{recorded.as_uri()[:-1]}?"):
            assert run(["check", place, "--judge", judge]) == 0
    assert run(["check", f"{recorded}*nothing", "--checkers"]) == 2
    assert "there is nothing at" in capsys.readouterr().err


def test_check_tells_a_violation_and_where(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path, Story("ab").view("ab").send("a", 4).deliver("b", "a", 2, 3))
    assert run(["check", "--checkers", str(tmp_path)]) == 1
    assert "event 2: b#1 delivered 2..4 from a#1 after 0: 1 missing" in capsys.readouterr().out


def test_evidence_of_many_runs_names_its_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path / "good", Story("ab").view("ab"))
    write(tmp_path / "bad", Story("ab").view("ab").send("a", 4).deliver("b", "a", 2, 3))
    assert run(["check", "--checkers", str(tmp_path), "--json"]) == 1
    said = json.loads(capsys.readouterr().out)
    (bad,) = (one["run"] for one in said["runs"] if one["verdict"] == "violated")
    assert said["guarantees"]["G1"]["evidence"][0]["run"] == bad
    assert run(["check", "--checkers", str(tmp_path)]) == 1
    assert f"{bad}, event 2: b#1 delivered 2..4" in capsys.readouterr().out


def test_check_is_unjudged_when_a_required_guarantee_is_not_exercised(recorded: Path) -> None:
    assert run(["check", "--checkers", str(recorded), "--require", "G8"]) == 2


def test_trace_commands_agree_on_what_is_there(
    recorded: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["trace", "ls", str(recorded), "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["recordings"]
    assert run(["trace", "stats", str(recorded), "--json"]) == 0
    stats = json.loads(capsys.readouterr().out)["members"]
    assert [row["events"] for row in rows] == [row["events"] for row in stats.values()]
    assert stats["a#1"]["sent"] == 4 and stats["b#1"]["delivered"] == 4
    out = tmp_path / "events.jsonl"
    assert run(["trace", "export", str(recorded), "-o", str(out), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["events"] == sum(row["events"] for row in rows)
    assert json.loads(out.read_text().splitlines()[0])["kind"] == "START"


def test_trace_head_can_be_narrowed(recorded: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["trace", "head", str(recorded), "--kind", "deliver", "--member", "b"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "b#1" and "DELIVER a#1 1..4" in lines[1] and len(lines) == 2


def test_words_go_to_standard_output_for_every_trace_command(
    recorded: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("ls", "head", "stats", "export"):
        assert run(["trace", name, str(recorded)]) == 0
        assert "a#1" in capsys.readouterr().out
