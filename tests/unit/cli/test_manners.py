"""How the commands behave: settings by file and environment, "did you mean", errors as JSON, paths checked first."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest
from click.shell_completion import ShellComplete

import ringcast.cli
from ringcast.cli import app as app_module
from ringcast.cli import node as node_module
from ringcast.cli import simulate
from ringcast.cli.app import run
from ringcast.cli.discovering import discovery_of
from ringcast.errors import ConfigError
from ringcast.runtime import DirectoryDiscovery, DnsDiscovery, MulticastDiscovery
from ringcast.sim import Summary


@pytest.fixture
def joined(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What `ringcast node` would have joined with."""
    seen: list[dict[str, Any]] = []

    async def note(group: str, as_json: bool, stay: bool, **place: Any) -> None:
        seen.append({"group": group, "stay": stay, **place})

    monkeypatch.setattr(node_module, "_be_a_member", note)
    return seen


def test_the_command_line_wins_over_the_environment_and_that_over_the_file(
    tmp_path: Path, joined: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "ringcast.toml"
    file.write_text('[node]\nname = "file"\nbind = "127.0.0.1:1"\nseed = ["h:1", "h:2"]\nmetrics = "127.0.0.1:9"\n')
    monkeypatch.setenv("RINGCAST_SETTINGS", str(file))
    monkeypatch.setenv("RINGCAST_NODE_BIND", "127.0.0.1:2")
    monkeypatch.setenv("RINGCAST_NODE_NAME", "environment")
    assert run(["node", "chat", "--name", "line"]) == 0
    place = joined[0]
    assert (place["name"], place["bind"], place["seeds"]) == ("line", "127.0.0.1:2", ("h:1", "h:2"))
    assert place["metrics"] == "127.0.0.1:9"


def test_seeds_come_from_the_environment_with_spaces_between_them(
    joined: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RINGCAST_NODE_SEED", "a:1 b:2")
    assert run(["node", "chat"]) == 0
    assert joined[0]["seeds"] == ("a:1", "b:2")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[nod]\n", "no command 'nod'; did you mean node?"),
        ("[node]\nbnd = 1\n", "no option 'bnd'; did you mean bind?"),
        ("node = 1\n", "must be a table"),
        ("[node\n", "are no TOML"),
        ("[bench.multicst]\n", "did you mean multicast?"),
    ],
)
def test_settings_that_nobody_knows_are_refused(
    tmp_path: Path, text: str, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "ringcast.toml"
    file.write_text(text)
    assert run(["--settings", str(file), "node", "chat"]) == 2
    assert says in capsys.readouterr().err


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (["simulat"], "did you mean simulate?"),
        (["bench", "multicst"], "did you mean multicast?"),
        (["check", "--mastr", "x", "y"], "--master"),
        (["qqqq"], "there are demo, node"),
    ],
)
def test_what_is_misspelt_is_answered_with_the_nearest(
    line: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(line) == 2
    assert says in capsys.readouterr().err


def test_with_json_an_error_is_an_object_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["trace", "ls", "does-not-exist", "--json"]) == 2
    out, err = capsys.readouterr()
    said = json.loads(out)
    assert said["exit_code"] == 2 and err == f"ringcast: {said['error']}\n"


def test_interrupted_with_json(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    @click.command()
    @click.option("--json", is_flag=True)
    def stopped(json: bool) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(app_module.app, "get_command", lambda ctx, name: stopped)
    assert run(["anything", "--json"]) == 130
    assert json.loads(capsys.readouterr().out) == {"error": "interrupted", "exit_code": 130}


def test_interrupted_while_it_is_imported(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    class Interrupting:
        def find_spec(self, name: str, *_: object) -> None:
            if name == "ringcast.cli.app":
                raise KeyboardInterrupt

    monkeypatch.setattr(sys, "meta_path", [Interrupting(), *sys.meta_path])
    monkeypatch.delitem(sys.modules, "ringcast.cli.app")
    monkeypatch.delattr("ringcast.cli.app")
    with pytest.raises(SystemExit, match="130"):
        ringcast.cli.main(["--version"])
    assert capsys.readouterr().err == "ringcast: interrupted\n"


def test_processes_that_run_seeds_are_not_interrupted_while_they_start() -> None:
    code = (
        "import os, signal; from ringcast.sim.batch import spawned\n"
        "if __name__ == '__main__':\n"
        "    with spawned(1) as pool:\n"
        "        try: os.killpg(0, signal.SIGINT)\n"
        "        except KeyboardInterrupt: print(pool.apply(abs, (-7,)))\n"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, start_new_session=True, capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout, done.stderr, done.returncode) == ("7\n", "", 0)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("dns://chat.default.svc:7001", DnsDiscovery),
        ("srv://_chat._udp.example.org", DnsDiscovery),
        ("dir:///shared/members", DirectoryDiscovery),
        ("multicast://127.0.0.1", MulticastDiscovery),
    ],
)
def test_ways_to_discover(text: str, kind: type) -> None:
    assert isinstance(discovery_of(text), kind)


@pytest.mark.parametrize("text", ["chat:7001", "dns://", "http://x", "srv://plain.example.org"])
def test_other_ways_are_refused(text: str) -> None:
    with pytest.raises(ConfigError):
        discovery_of(text)


def test_where_output_goes_is_looked_at_before_the_work(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "file"
    file.touch()
    for line in (
        ["simulate", "--seeds", "1", "--record", str(file / "x")],
        ["simulate", "--seeds", "1", "--resume", str(file / "x")],
        ["demo", "--quick", "--record", str(file / "x")],
        ["report", str(tmp_path), "-o", str(file / "x.html"), "--checkers"],
        ["trace", "export", str(tmp_path), "-o", str(file / "x")],
    ):
        assert run(line) == 2
        assert "cannot be written" in (said := capsys.readouterr().err) or "no directory" in said


def test_a_simulation_without_a_run_does_not_say_that_nothing_was_violated(capsys: pytest.CaptureFixture[str]) -> None:
    simulate._tell(Summary())
    said = capsys.readouterr().out
    assert "nothing was run" in said and "violated" not in said and "faults" not in said


@pytest.mark.parametrize(
    ("words", "incomplete", "found"),
    [([], "sim", ["simulate"]), (["node", "chat"], "--dis", ["--discover"]), (["nonsense"], "", ["demo"])],
)
def test_shells_complete_commands_and_options(words: list[str], incomplete: str, found: list[str]) -> None:
    shell = ShellComplete(app_module.app, {}, "ringcast", "_RINGCAST_COMPLETE")
    assert [item.value for item in shell.get_completions(words, incomplete) if item.type == "plain"][:1] == found
