"""Choosing the Python to set up with, and the sentence when there is none that will do."""

import os
import subprocess
import sys
from pathlib import Path

FIND = Path(__file__).resolve().parents[3] / "tools" / "find_python"


def find(path: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["/bin/sh", FIND], env={"PATH": str(path), **environment}, capture_output=True, text=True, check=False
    )


def command(directory: Path, name: str, script: str) -> None:
    (directory / name).write_text(f"#!/bin/sh\n{script}\n")
    (directory / name).chmod(0o755)


def test_a_python3_that_is_new_enough_is_taken(tmp_path: Path) -> None:
    os.symlink(sys.executable, tmp_path / "python3")
    assert find(tmp_path).stdout.strip() == str(tmp_path / "python3")


def test_an_old_python3_is_passed_over_for_a_newer_one_beside_it(tmp_path: Path) -> None:
    command(tmp_path, "python3", "exit 1")
    os.symlink(sys.executable, tmp_path / "python3.12")
    assert find(tmp_path).stdout.strip() == str(tmp_path / "python3.12")


def test_the_python_asked_for_is_the_only_one_tried(tmp_path: Path) -> None:
    os.symlink(sys.executable, tmp_path / "python3")
    found = find(tmp_path, PYTHON="python9")
    assert (found.returncode, found.stderr) == (1, "PYTHON=python9 is not a Python of version 3.11 or newer.\n")


def test_an_old_python3_alone_is_named(tmp_path: Path) -> None:
    command(tmp_path, "python3", '[ "$1" = -V ] && echo Python 3.9.2 || exit 1')
    found = find(tmp_path)
    assert found.returncode == 1
    assert found.stderr.startswith("ringcast needs Python 3.11 or newer; python3 here is Python 3.9.2.")


def test_no_python_at_all_is_told_with_the_way_out(tmp_path: Path) -> None:
    found = find(tmp_path)
    assert found.returncode == 1
    assert "no python3 on PATH. On Debian: apt-get install python3 python3-venv" in found.stderr
