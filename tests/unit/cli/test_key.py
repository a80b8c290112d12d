"""`ringcast key`: the steps of a change of keys, and that no secret is ever printed."""

import base64
import json
from pathlib import Path

import pytest

from ringcast.cli.app import run
from ringcast.security import read_keyring


def test_a_key_is_made_and_changed_without_being_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "g.key"
    assert run(["key", "new", "-o", str(path)]) == 0
    (old,) = read_keyring(path).keys
    assert run(["key", "add", str(path)]) == 0
    _, new = read_keyring(path).keys
    assert run(["key", "primary", str(path), new.name]) == 0
    assert run(["key", "retire", str(path), old.name]) == 0
    assert run(["key", "show", str(path)]) == 0
    shown = "".join(capsys.readouterr())
    for key in (old, new):
        assert (
            key.name in shown and base64.b64encode(key.secret).decode() not in shown and key.secret.hex() not in shown
        )
    assert run(["key", "show", str(path), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said == {"path": str(path), "primary": new.name, "accepted": [], "retired": [old.name]}


def test_a_key_file_is_never_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "g.key"
    assert run(["key", "new", "-o", str(path)]) == 0
    assert run(["key", "new", "-o", str(path)]) == 2
    assert "exists already" in capsys.readouterr().err


def test_the_primary_key_cannot_be_retired(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "g.key"
    run(["key", "new", "-o", str(path)])
    assert run(["key", "retire", str(path), read_keyring(path).primary.name]) == 2
    assert "make another primary first" in capsys.readouterr().err
