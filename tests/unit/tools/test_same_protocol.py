"""The guard of a refactoring: it passes where nothing differs, and names what does."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ringcast.sim.planted import KNOWN

ROOT = Path(__file__).resolve().parents[3]
ARMED = "self.timer.at_ns = now_ns + self.limit_ns"
A_NANOSECOND_LATER = "self.timer.at_ns = self.limit_ns + now_ns + 1"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A repository of its own with one commit: this tree's code, without the parts in C."""
    for part in ("src", "tools", "tests"):
        left_out = shutil.ignore_patterns("__pycache__", "*.so", "*.egg-info")
        shutil.copytree(ROOT / part, tmp_path / part, ignore=left_out)
    shutil.copy(ROOT / ".gitignore", tmp_path)
    for arguments in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "base"]):
        subprocess.run(["git", "-c", "user.name=t", "-c", "user.email=t@t", *arguments], cwd=tmp_path, check=True)
    return tmp_path


def compare(checkout: Path, base: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "tools/same_protocol.py", base, "--seeds", "1", "--jobs", "1"]
    return subprocess.run(command, cwd=checkout, capture_output=True, text=True, check=False)


def test_the_same_code_is_the_same_protocol_and_an_edit_is_named(checkout: Path) -> None:
    same = compare(checkout, "HEAD")
    assert same.returncode == 0, same.stderr
    assert same.stdout.count("2 of 2 hashes are equal") == 2

    edited = checkout / "src/ringcast/core/membership/suspension.py"
    edited.write_text(edited.read_text().replace(ARMED, A_NANOSECOND_LATER))
    different = compare(checkout, "HEAD")
    assert different.returncode == 1
    assert "total 1 events" in different.stdout
    assert "SUSPEND" in next(line for line in different.stdout.splitlines() if line.startswith("seed 1, here: "))
    assert "the planted bug 'the Resumer is not armed' does not match" in different.stdout


def test_a_planted_bug_that_is_dropped_is_named(checkout: Path) -> None:
    listed = checkout / "tests/simulation/plant_all.py"
    listed.write_text(listed.read_text().replace("return [*KNOWN, ", "return [*KNOWN[1:], "))
    dropped = compare(checkout, "HEAD")
    assert dropped.returncode == 1
    assert f"the planted bug {KNOWN[0].name!r} of HEAD is gone" in dropped.stdout


def test_a_commit_that_is_not_there_is_refused_in_a_sentence(checkout: Path) -> None:
    refused = compare(checkout, "nowhere")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr.startswith("same_protocol: ")
    assert "Traceback" not in refused.stderr
