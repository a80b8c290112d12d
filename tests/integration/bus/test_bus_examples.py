"""The examples of the bus run, as a user would run them, and everybody ends with the same result."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.needs("native")

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"


def test_all_workers_end_with_the_same_ledger() -> None:
    command = [sys.executable, str(EXAMPLES / "bus_workers.py"), "3", "200"]
    run = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    ledgers = [line.split(": ", 1)[1] for line in run.stdout.splitlines()]
    assert len(ledgers) == 3 and len(set(ledgers)) == 1, run.stdout
