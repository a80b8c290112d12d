"""Hashes of simulated runs: the same code gives the same ones, and a run that differs is named."""

import json
import subprocess
import sys
from pathlib import Path

TOOL = Path(__file__).resolve().parents[3] / "tools" / "trace_hashes.py"


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, TOOL, "--jobs", "1", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_what_was_recorded_is_compared_and_what_differs_is_named(tmp_path: Path) -> None:
    recorded = tmp_path / "recorded.json"
    assert run("--seeds", 1, "--out", recorded).returncode == 0
    equal = run("--against", recorded)
    assert (equal.returncode, equal.stdout) == (0, "2 of 2 hashes are equal\n")
    recorded.write_text(json.dumps(json.loads(recorded.read_text()) | {"total 1 events": "another"}))
    different = run("--against", recorded)
    assert (different.returncode, different.stdout) == (1, "1 of 2 hashes are equal\n  total 1 events\n")
