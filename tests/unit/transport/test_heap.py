import subprocess
import sys

import pytest

COUNT_FAULTS = """
import resource, sys
from ringcast.transport.heap import keep_heap
if sys.argv[1] == "keep":
    assert keep_heap()

def burst():
    frames = [bytes(60_000) for _ in range(16)]

burst()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(100):
    burst()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def page_faults(how: str, **env: str) -> int:
    run = subprocess.run([sys.executable, "-c", COUNT_FAULTS, how], capture_output=True, text=True, check=True, env=env)
    return int(run.stdout)


@pytest.mark.skipif(sys.platform != "linux", reason="a setting of the C library of Linux")
def test_memory_that_is_freed_and_taken_again_is_not_fetched_from_the_kernel_each_time() -> None:
    assert page_faults("keep") < page_faults("leave") / 10


def test_settings_of_the_user_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    from ringcast.transport.heap import keep_heap

    monkeypatch.setenv("MALLOC_TRIM_THRESHOLD_", "1000000")
    assert keep_heap() is False
