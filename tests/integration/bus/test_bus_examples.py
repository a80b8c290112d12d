"""The examples of the bus run, as a user would run them, and everybody ends with the same result."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.needs("native")

ROOT = Path(__file__).resolve().parents[3]
EXAMPLES = ROOT / "examples"


def test_all_workers_end_with_the_same_ledger() -> None:
    command = [sys.executable, str(EXAMPLES / "bus_workers.py"), "3", "200"]
    run = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    ledgers = [line.split(": ", 1)[1] for line in run.stdout.splitlines()]
    assert len(ledgers) == 3 and len(set(ledgers)) == 1, run.stdout


def test_the_example_of_the_guide_runs_as_it_stands(tmp_path: Path) -> None:
    guide = (ROOT / "docs" / "guide.md").read_text()
    found = re.search(r"## One host: the bus.*?```python\n(.*?)```", guide, re.DOTALL)
    assert found is not None
    script = tmp_path / "example.py"
    script.write_text(found.group(1))
    run = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=False, timeout=60)
    assert (run.returncode, run.stdout) == (0, "['ann', 'bob']\n"), run.stderr
