"""Ten seeds behave as recorded, event by event and frame by frame; `make same-protocol` compares many more."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
RECORDED = Path(__file__).parent / "testdata" / "trace_hashes.json"
WHAT_NOW = """
This change alters what simulated runs do or send. If it should not, `make same-protocol BASE=<the commit before>` shows
the first event or frame that differs. If it should: CONTRIBUTING.md, "When the protocol changes".
"""


@pytest.mark.parametrize("hash_seed", [0, 1])
def test_simulated_runs_are_as_recorded(hash_seed: int) -> None:
    command = [sys.executable, "tools/trace_hashes.py", "--against", str(RECORDED), "--seeds", "10", "--jobs", "1"]
    environment = {"PYTHONHASHSEED": str(hash_seed)}
    compared = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert compared.returncode == 0, compared.stdout + compared.stderr + WHAT_NOW
    assert compared.stdout.startswith("20 of 20 hashes are equal")
