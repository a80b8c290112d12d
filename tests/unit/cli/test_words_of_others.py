"""What others wrote is shown as text: no terminal obeys it, no line or field of it looks like one of ringcast's."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from ringcast.cli.app import run
from ringcast.cli.logs import KeyValueFormatter
from ringcast.model import Address, Config, Event, Kind
from ringcast.trace import FileRecorder, Header

SEQUENCE = "\x1b]0;owned\x07\x1b[2J\x9b31m"
ME = Address("a", 1, "127.0.0.1:1")


@pytest.mark.parametrize("words", [("trace", "head"), ("trace", "ls"), ("trace", "stats"), ("check", "--checkers")])
def test_a_recording_puts_no_sequence_on_the_terminal(
    tmp_path: Path, words: tuple[str, ...], capfd: pytest.CaptureFixture[str]
) -> None:
    recorder = FileRecorder(tmp_path, Header.of(ME, f"g{SEQUENCE}", Config(capacity=7), seed=5))
    recorder.append(Event(Kind.DROP, 1, peer=ME, detail={"reason": f"{SEQUENCE}\n  7  a forged event"}))
    recorder.close(2)
    run([*words, str(tmp_path)])
    said = capfd.readouterr()
    assert said.out
    assert not any(c in said.out + said.err for c in "\x1b\x07\x9b")
    assert "\n  7  a forged event" not in said.out


def record_of(message: str, **fields: object) -> logging.LogRecord:
    record = logging.LogRecord("ringcast", logging.INFO, "here.py", 1, message, (), None)
    record.__dict__.update({f"ringcast_{name}": value for name, value in fields.items()})
    return record


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("plain", "plain"),
        ("two words", '"two words"'),
        ("a\ntime=2026 level=error", '"a\\ntime=2026 level=error"'),
        ('x" level="error', "\"x' level='error\""),
        ("", '""'),
        (SEQUENCE, "\\x1b]0;owned\\x07\\x1b[2J\\x9b31m"),
    ],
)
def test_a_value_forges_no_line_and_no_field_of_the_log(value: str, shown: str) -> None:
    line = KeyValueFormatter().format(record_of("view", peer=value))
    assert "\n" not in line and line.endswith(f'message="view" peer={shown}')


def test_a_message_is_one_line() -> None:
    line = KeyValueFormatter().format(record_of('a\n" level=error message="b'))
    assert "\n" not in line and line.endswith("message=\"a\\n' level=error message='b\"")
