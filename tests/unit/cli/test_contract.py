"""What other programs rely on: every command has --help with examples and --json; mistakes are one sentence, code 2.

The JSON keys of commands that need real processes are in tests/integration/test_contract.py.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from ringcast.cli.app import app, run


def leaves(command: click.Command = app, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Every command that does something, as words."""
    if not isinstance(command, click.Group):
        yield path
        return
    context = click.Context(command)
    for name in command.list_commands(context):
        inner = command.get_command(context, name)
        assert inner is not None, name
        yield from leaves(inner, (*path, name))


EVERY = sorted(leaves())
RELIED_ON = {
    ("bench", "multicast"): "--members --senders --size --seconds --transport --ip-multicast --peers --form",
    ("bench", "latency"): "--rate --size --seconds --closed-loop --order --loop",
    ("bench", "bus"): "--producers --consumers --size --seconds --peers",
    ("bench", "order"): "--members --size --seconds",
    ("bench", "pipeline"): "--deliveries",
    ("simulate",): "--seed --first-seed --seeds --members --record --shrink --planted-bugs --spark --master --workload",
    ("check",): "--master --require --conf --judge --tables",
    ("report",): "-o --checkers --judge --require",
    ("demo",): "--quick --members --record --key-file",
    ("node",): "--key-file",
    ("status",): "--key-file",
    ("explain",): "--key-file",
    ("top",): "--key-file",
    ("key", "new"): "-o",
    ("page",): "--bind --seed",
}


@pytest.mark.parametrize("words", EVERY, ids=" ".join)
def test_every_command_teaches_by_example_and_has_json(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*words, "--help"]) == 0
    out, err = capsys.readouterr()
    assert err == "" and f"Usage: ringcast {' '.join(words)}" in out and "--json" in out
    assert run([*words[:1], "--help"]) == 0
    assert "Examples:" in out + capsys.readouterr().out, "its own help, or that of its group, shows examples"


@pytest.mark.parametrize("words", RELIED_ON, ids=" ".join)
def test_options_that_are_relied_on_are_there(words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    run([*words, "--help"])
    out = capsys.readouterr().out
    assert [option for option in RELIED_ON[words].split() if not re.search(rf"{option}\b", out)] == []


MISTAKES = [
    ("--nonsense", "No such option"),
    ("nonsense", "there is no command"),
    ("demo --members x", "not a valid integer"),
    ("demo --members 2", "4 to 10, got 2"),
    ("node", "Missing argument 'GROUP'"),
    ("node chat --bind nonsense", "'nonsense' is not an endpoint"),
    ("node chat --bind 127.0.0.1:99999", "port '99999'"),
    ("node chat --seed 127.0.0.1", "'127.0.0.1' is not an endpoint"),
    ("node bad/name", "'bad/name'"),
    ("node chat --name a#b", "'a#b'"),
    ("node chat --transport pigeon", "'pigeon' is not one of"),
    ("node chat --profile mars", "'mars' is not one of"),
    ("node chat --join-timeout 0", "--join-timeout"),
    ("node chat --expect -3", "--expect"),
    ("node chat --bind 192.0.2.1:7001", "192.0.2.1:7001 is not on loopback"),
    ("node chat --bind 192.0.2.1:7001 --unencrypted", "cannot bind 192.0.2.1:7001"),
    ("status nobody", "no member 'nobody' runs here"),
    ("status --over 0", "--over"),
    ("explain", "Missing argument 'ADDRESS'"),
    ("explain nobody", "no member 'nobody' runs here"),
    ("explain nosuch.sock", "nosuch.sock does not answer"),
    ("top --seconds 0", "--seconds"),
    ("check", "Missing argument"),
    ("check nosuch", "there is nothing at nosuch"),
    ("check EMPTY", "no recording in"),
    ("check JUNK", "does not begin like a segment of a recording"),
    ("check EMPTY --checkers --master local", "exclude each other"),
    ("report EMPTY", "Missing option '-o'"),
    ("report EMPTY -o x.html", "no recording in"),
    ("report EMPTY -o nowhere/x.html", "there is no directory nowhere"),
    ("trace ls JUNK", "not a directory with recordings"),
    ("trace head EMPTY -n 0", "'-n'"),
    ("trace head EMPTY --kind NOPE", "'NOPE' is not one of"),
    ("simulate --seed x", "'x'"),
    ("simulate --members 0", "must lie between 1 and 100"),
    ("bench nonsense", "there is no command"),
    ("bench multicast --members 1", "members"),
    ("bench multicast --senders 9", "senders"),
    ("bench multicast --size 0", "size"),
    ("bench multicast --seconds 0", "seconds"),
    ("bench multicast --transport smoke", "'smoke' is not one of"),
    ("bench latency --rate 0", "rate"),
    ("bench bus --producers 0", "producers"),
    ("bench order --members 0", "members"),
    ("bench pipeline --deliveries x", "deliveries"),
]


@pytest.mark.parametrize(("line", "sentence"), MISTAKES, ids=[line for line, _ in MISTAKES])
def test_a_mistake_is_one_sentence_that_names_it_and_exit_code_2(
    line: str, sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("RINGCAST_SOCKETS", str(tmp_path / "sockets"))
    (tmp_path / "empty").mkdir()
    (tmp_path / "junk").write_text("not a recording")
    line = line.replace("EMPTY", str(tmp_path / "empty")).replace("JUNK", str(tmp_path / "junk"))
    assert run(line.split()) == 2
    out, err = capsys.readouterr()
    assert out == "" and sentence in err
    assert err.startswith("ringcast: ") and err.count("\n") == 1 and "Traceback" not in err and "a bug in" not in err


@pytest.mark.parametrize("group", [[], ["trace"], ["bench"]], ids=str)
def test_a_group_without_a_command_shows_its_help_and_did_not_run(
    group: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(group) == 2
    out, err = capsys.readouterr()
    assert out == "" and "Commands:" in err and err.count("\n") > 5


@pytest.mark.parametrize("command", ["node chat", "demo", "status", "explain bob", "top"])
def test_each_command_for_members_checks_its_key_file_first(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*command.split(), "--key-file", str(tmp_path / "none")]) == 2
    out, err = capsys.readouterr()
    assert out == "" and "cannot read the key file" in err
