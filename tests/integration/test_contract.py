"""JSON that other programs rely on, from commands that need real processes: one object, the keys, the exit code.

What needs none is in tests/unit/cli; `demo` in test_demo.py, `status` and `explain` in test_inspection.py.
"""

import json
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from integration.long import IS_LONG

RATES = (
    "messages_per_second_per_receiver single_form_messages_per_second_per_receiver megabytes_per_second_per_receiver "
    "complete retransmitted rss_megabytes_max peers"
)
USER = "user_form_messages_per_second_per_receiver"
LINES = [("bench multicast --members 2 --size 100 --seconds 0.1 --transport memory --no-raw", f"{RATES} {USER}")]
LATENCY = "p50_us p99_us p999_us max_us echo_p50_us private_p50_us half_load_p50_us"
# At full length (make long): real sockets, what compiles C, measures others or starts Spark.
LONG = [
    ("bench multicast --members 2 --size 100 --seconds 0.1 --no-raw", f"{RATES} {USER}"),
    ("bench multicast --members 2 --size 100 --seconds 0.1 --no-raw --form user", f"{USER} complete peers"),
    ("bench latency --rate 200 --size 64 --seconds 0.2", LATENCY),
    ("bench latency --closed-loop --order total --size 64 --seconds 0.2", f"{LATENCY} total_p50_us"),
    ("bench bus --producers 1 --consumers 1 --size 100 --seconds 0.1", RATES),
    ("bench order --members 2 --size 100 --seconds 0.1", RATES),
    (
        "bench multicast --members 2 --size 100 --seconds 0.2 --peers",
        f"{RATES} share_of_raw raw_megabytes_per_second_per_receiver",
    ),
    ("bench bus --producers 1 --consumers 1 --seconds 0.2 --peers", RATES),
    ("bench pipeline --deliveries 10000", "deliveries_per_second duckdb_deliveries_per_second"),
]


def ringcast(line: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "ringcast", *line.split()]
    return subprocess.run(command, capture_output=True, text=True, timeout=240, check=False, stdin=subprocess.DEVNULL)


def one_object(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    assert done.stdout.count("\n") == 1, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    said: dict[str, Any] = json.loads(done.stdout)
    return said


@pytest.mark.needs("native")
@pytest.mark.parametrize(("line", "keys"), [*LINES, *(LONG if IS_LONG else [])], ids=lambda text: str(text)[:40])
def test_a_benchmark_prints_one_object_with_the_promised_keys(line: str, keys: str) -> None:
    done = ringcast(f"{line} --json")
    said = one_object(done)
    assert set(keys.split()) - set(said) == set()
    assert said.get("complete", True) is True and done.returncode == 0


@pytest.mark.parametrize("what", ["multicast", "order"])
def test_a_benchmark_that_is_recorded_can_be_judged(what: str, tmp_path: Path) -> None:
    place = tmp_path / "recorded"
    done = ringcast(f"bench {what} --members 2 --size 100 --seconds 0.1 --no-raw --record {place} --json")
    assert one_object(done)["complete"] is True and done.returncode == 0
    verdict = ringcast(f"check {place} --checkers --json")
    assert one_object(verdict)["verdict"] == "held" and verdict.returncode == 0


def test_a_busy_port_is_one_sentence() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
        taken.bind(("127.0.0.1", 0))
        place = f"127.0.0.1:{taken.getsockname()[1]}"
        done = ringcast(f"node chat --bind {place}")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1 and f"cannot bind {place}" in done.stderr


def test_a_node_reads_its_lines_from_a_file_too(tmp_path: Path) -> None:
    lines = tmp_path / "lines.txt"
    lines.write_text("one\ntwo\n")
    command = [sys.executable, "-m", "ringcast", "node", "chat", "--name", "a", "--json"]
    with lines.open() as typed:
        done = subprocess.run(command, stdin=typed, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert [event["message"] for event in events if "message" in event] == ["one", "two"]
