"""What `ringcast bench recorder` makes of its turns."""

import os
import subprocess
import sys

import pytest

from ringcast.bench.process_tree import TreeUse, tree_megabytes
from ringcast.bench.recorder import _result

RATES = {"unrecorded": [100.0, 120.0, 80.0], "recorded": [95.0, 60.0, 99.0]}
CPU = {"unrecorded": [10.0, 10.0, 10.0], "recorded": [11.0, 11.0, 30.0]}


def seen(dropped: int) -> list[dict[str, int]]:
    return [{"events": 100, "dropped_events": dropped, "bytes": 700}]


def test_medians_of_turns_are_compared() -> None:
    result = _result(RATES, CPU, seen(0), True)
    assert result["overhead"] == pytest.approx(0.05) and result["cpu_overhead"] == pytest.approx(0.1)
    assert result["complete"] and result["bytes_per_event"] == 7


def test_a_recording_that_dropped_events_does_not_count() -> None:
    assert not _result(RATES, CPU, seen(3), True)["complete"]


def test_an_incomplete_turn_does_not_count() -> None:
    assert not _result(RATES, CPU, seen(0), False)["complete"]


def test_the_memory_of_a_process_tree_is_at_least_its_own() -> None:
    assert tree_megabytes(os.getpid()) > 5


def test_cpu_of_a_process_that_ended_unwaited_for_still_counts() -> None:
    """As Spark's workers do: their parent ignores their end, so that their time is in nobody's figures."""
    burn = "import os, signal, time; signal.signal(signal.SIGCHLD, signal.SIG_IGN)\n"
    burn += "if os.fork() == 0:\n while time.process_time() < 1: pass\n os._exit(0)\n"
    burn += "try: os.wait()\nexcept ChildProcessError: print(flush=True)\ninput()"
    with TreeUse() as use:
        before = use.cpu_seconds()
        parent = subprocess.Popen([sys.executable, "-c", burn], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert parent.stdout is not None
        parent.stdout.readline()
        spent = use.cpu_seconds() - before
        parent.communicate(b"\n")
    assert spent > 0.4
