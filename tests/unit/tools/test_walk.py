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


def test_a_crash_visits_no_component_that_is_idle() -> None:
    """Nothing was ordered, no state is on its way, nobody merges: of those rooms only what notices a split is asked."""
    ran = subprocess.run([sys.executable, TOOL, "crash", "--json"], capture_output=True, text=True, check=True)
    core = [step["file"] for step in json.loads(ran.stdout)["path"] if step["file"].startswith("core/")]
    assert len(core) <= 37, core  # Two more than before members told whom they do not hear: rows.py, readmission.py.
    assert not [file for file in core if file.startswith("core/state/")]
    assert [file for file in core if file.startswith("core/ordering/")] == ["core/ordering/ordering.py"]
    assert not [file for file in core if file in ("core/merge/leader.py", "core/merge/participant.py")]
