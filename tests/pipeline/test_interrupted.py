"""Ctrl-C while Spark starts ends in one sentence and leaves no Java behind."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ringcast.trace import FileRecorder
from ringcast.trace.story import Story

pytestmark = pytest.mark.needs("spark")


def java_of(session: int) -> list[int]:
    """The processes of a session that run Spark's Java."""
    found = []
    for place in Path("/proc").iterdir():
        if place.name.isdigit():
            try:
                if os.getsid(int(place.name)) == session and b"SparkSubmit" in (place / "cmdline").read_bytes():
                    found.append(int(place.name))
            except OSError:
                pass  # it ended meanwhile
    return found


def test_no_java_is_left_when_its_start_is_interrupted(tmp_path: Path) -> None:
    story = Story("ab").view("ab").passed("ab", "a", 4)
    for recording in story.recordings():
        recorder = FileRecorder(tmp_path, recording.header)
        recorder.extend(list(recording.events)[1:-1])
        recorder.close(story.now_ns)
    command = [sys.executable, "-m", "ringcast", "check", str(tmp_path), "--judge", "spark"]
    child = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    until = time.monotonic() + 120
    while not java_of(child.pid):
        assert child.poll() is None and time.monotonic() < until
        time.sleep(0.01)
    os.killpg(child.pid, signal.SIGINT)
    _, said = child.communicate(timeout=120)
    assert (said.strip(), child.returncode) == ("ringcast: interrupted", 130)
    until = time.monotonic() + 60
    while java_of(child.pid):  # They are killed; the kernel takes them away when it comes to it.
        assert time.monotonic() < until, "a Java stayed"
        time.sleep(0.01)
