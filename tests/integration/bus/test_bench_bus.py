"""`ringcast bench bus` as others call it: real processes, the JSON keys that they rely on, recordings that hold."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from ringcast.bench import bus_workers
from ringcast.bench.bus_channels import available
from ringcast.bench.bus_peers import measure
from ringcast.bench.bus_workers import Part
from ringcast.bus import Peer
from ringcast.checkers import judge
from ringcast.cli.bench_bus import command
from ringcast.trace import read_run

pytestmark = pytest.mark.needs("native")

KEYS = {
    "messages_per_second_per_receiver",
    "single_form_messages_per_second_per_receiver",
    "megabytes_per_second_per_receiver",
    "raw_megabytes_per_second_per_receiver",
    "share_of_raw",
    "complete",
    "retransmitted",
    "rss_megabytes_max",
    "peers",
}


def bench(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "ringcast", "bench", "bus", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_two_producers_and_two_consumers_are_complete_and_the_recording_holds(tmp_path: Path) -> None:
    run = bench("--producers", "2", "--consumers", "2", "--seconds", "0.2", "--json", "--record", str(tmp_path))
    assert run.returncode == 0, run.stderr
    told = json.loads(run.stdout)
    assert set(told) >= KEYS and told["complete"] and told["messages_per_second_per_receiver"] > 0
    judged = judge(read_run([tmp_path]), require=["G11,G12,G13"])
    assert [judged.findings[name].verdict for name in ("G11", "G12", "G13")] == ["held"] * 3
    assert judged.findings["G12"].examined == 2 * sum(told["sent"].values()) + 4 + 4  # and an end mark and a word each


def test_the_other_ways_have_the_names_that_others_rely_on() -> None:
    run = bench("--seconds", "0.1", "--peers", "--json")
    assert run.returncode == 0, run.stderr
    told = json.loads(run.stdout)
    assert set(told["peers"]) >= {"multiprocessing.Queue", "multiprocessing.Pipe", "unix datagram", "pyzmq ipc"}
    assert all(rate > 0 for rate in told["peers"].values()) and told["peers_lost"] == {}


def lose_one(peer: Peer, pool: list[bytes], part: Part) -> int:
    peer.queue_many(pool[:9], to=part.consumers)
    return 10


def damage_one(peer: Peer, pool: list[bytes], part: Part) -> int:
    peer.queue_many([*pool[:9], pool[0]], to=part.consumers)
    return 10


@pytest.mark.parametrize("send", [lose_one, damage_one])
@pytest.mark.parametrize("form", ["_send_batches", "_send_singles"])
def test_a_message_lost_or_damaged_in_either_form_is_incomplete_and_exit_code_1(
    monkeypatch: pytest.MonkeyPatch, send: Callable[[Peer, list[bytes], Part], int], form: str
) -> None:
    monkeypatch.setattr(bus_workers, form, send)  # The processes are forked from this one.
    run = CliRunner().invoke(command, ["--seconds", "0.05", "--json"])
    assert run.exit_code == 1
    assert json.loads(run.stdout)["complete"] is False


def test_arguments_that_cannot_be_are_one_sentence_and_exit_code_2() -> None:
    run = bench("--producers", "99", "--json")
    sentence = "--producers must be 1 to 30, got 99"
    assert (run.returncode, json.loads(run.stdout)) == (2, {"error": sentence, "exit_code": 2})
    assert sentence in run.stderr and "Traceback" not in run.stderr


@pytest.mark.parametrize("kind", list(available()), ids=lambda kind: kind.name)
def test_every_other_way_delivers_all_that_was_sent_to_all(kind: type) -> None:
    channel = kind(2, 2)
    try:
        rate, lost = measure(channel, b"x" * 100, 0.1)
    finally:
        channel.close()
    assert rate > 0 and lost == 0
