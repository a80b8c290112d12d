"""The walk of a message is counted and told, in words and as JSON."""

import json
import subprocess
import sys
from pathlib import Path

TOOL = Path(__file__).resolve().parents[3] / "tools" / "walk.py"


def test_one_send_as_json() -> None:
    ran = subprocess.run([sys.executable, TOOL, "send", "--json"], capture_output=True, text=True, check=True)
    walk = json.loads(ran.stdout)
    assert len(walk["path"]) == walk["files"] < walk["functions"] < walk["calls"]
    assert walk["files"] - 1 <= walk["hops"] < walk["calls"]
    assert walk["path"][0]["file"].startswith("runtime/")
    assert sum(step["calls"] for step in walk["path"]) == walk["calls"]
