"""The demo, as a user runs it: what it prints, how it cuts, and that nothing is left behind however it ends."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from integration.long import IS_LONG

DEMO = [sys.executable, "-m", "ringcast", "demo"]


@pytest.fixture
def sockets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Every process of the demo carries this in its environment, so those left behind can be found by it."""
    directory = tmp_path / "sockets"
    monkeypatch.setenv("RINGCAST_SOCKETS", str(directory))
    return directory


def left_behind(sockets: Path) -> list[str]:
    """Processes of this demo, and sockets of its members."""
    mark = f"RINGCAST_SOCKETS={sockets}".encode()
    processes = [
        cmdline.parent.name
        for cmdline in Path("/proc").glob("[0-9]*/cmdline")
        if cmdline.parent.name != str(os.getpid()) and mark in environment(cmdline.parent)
    ]
    return processes + [path.name for path in sockets.glob("*.sock")]


def environment(process: Path) -> list[bytes]:
    try:
        return (process / "environ").read_bytes().split(b"\0")
    except OSError:
        return []  # It ended meanwhile, or is not ours.


def test_without_namespaces_it_cuts_by_the_transports_switch_and_says_so(tmp_path: Path, sockets: Path) -> None:
    command = [*DEMO, "--quick", "--no-namespaces", "--json", "--record", str(tmp_path / "run")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert done.stdout.count("\n") == 1
    assert (said["verdict"], said["judge"], said["report"], said["failure"]) == ("held", "checkers", None, None)
    assert len(said["steps"]) == 10 and all(step["ok"] and step["seconds"] >= 0 for step in said["steps"])
    assert "cut by the transport's own switch, not in the network: you asked for it" in done.stderr
    assert "judged by the checkers (--quick: not by Spark)" in done.stderr
    assert not re.search(r"[\x1b\r]", done.stderr) and max(map(len, done.stderr.splitlines())) <= 80
    assert left_behind(sockets) == []


# Where the tour is interrupted: by the word it says, and by which signal. At full length also while Spark works.
MOMENTS = [
    ("1.", signal.SIGINT, "--quick"),
    ("stops reading", signal.SIGTERM, "--quick"),
    ("is killed", signal.SIGINT, "--quick"),
    ("two groups now", signal.SIGINT, "--quick"),
    *([("Spark starts", signal.SIGINT, None)] if IS_LONG else []),
]


@pytest.mark.needs("namespaces", "spark")
@pytest.mark.parametrize(("moment", "number", "quick"), MOMENTS)
def test_an_interrupted_demo_leaves_nothing_behind(
    moment: str, number: signal.Signals, quick: str | None, tmp_path: Path, sockets: Path
) -> None:
    """It is sent the signal as Ctrl-C does; its last words are no traceback."""
    command = [*DEMO, *([quick] if quick else []), "--record", str(tmp_path / "run")]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=unbuffered())
    assert child.stdout is not None
    for line in child.stdout:
        if moment in line:
            break
    child.send_signal(number)
    _, last_words = child.communicate(timeout=60)
    assert child.returncode == 130, last_words
    assert "everything that was started has ended" in last_words and "Traceback" not in last_words
    assert left_behind(sockets) == []


def unbuffered() -> dict[str, str]:
    return os.environ | {"PYTHONUNBUFFERED": "1"}


def test_a_demo_that_cannot_run_says_why_in_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "something").touch()
    for wrong, sentence in ((["--members", "3"], "--members must be 4 to 10, got 3"), ([], "is not empty")):
        command = [*DEMO, "--quick", "--record", str(tmp_path), *wrong]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        assert (done.returncode, done.stdout) == (2, "")
        assert sentence in done.stderr and done.stderr.count("\n") == 1
