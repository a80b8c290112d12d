"""The simulated group: the same seed is the same run, faults hold together, members freeze and read slowly."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ringcast.model import MS, SECOND, Address, Event, Kind, profile
from ringcast.sim import Asked, Cluster, Fault, Link, Task, run_all
from ringcast.sim.application import Outbound

REPLAY = """
from ringcast.sim import Options, draw, simulate
print(simulate(draw(5, (3, 3), fixed=True)).trace_hash, simulate(draw(6, (3, 3))).trace_hash)
"""
ROOT = Path(__file__).resolve().parents[3]


def rough(seed: int) -> Cluster:
    cluster = Cluster(3, seed=seed, link=Link(loss=0.2, jitter_ns=5 * MS, duplicate=0.1, reorder=0.2))
    for name in "ABC":
        cluster.send(name, *[b"%d" % number for number in range(50)])
    cluster.run_for(SECOND)
    return cluster


def test_the_same_seed_is_the_same_run_and_another_is_another() -> None:
    assert rough(1).trace_hash() == rough(1).trace_hash()
    assert rough(1).trace_hash() != rough(2).trace_hash()


def test_the_same_seed_is_the_same_run_under_any_hash_seed() -> None:
    outputs = [replay(sys.executable, hash_seed) for hash_seed in ("1", "2")]
    assert outputs[0] == outputs[1]
    assert len(outputs[0].split()) == 2


@pytest.mark.parametrize("version", ["3.11", "3.12", "3.13"])
def test_the_same_seed_is_the_same_run_on_every_python(version: str) -> None:
    assert replay(python_of(version), "0") == replay(sys.executable, "0")


def python_of(version: str) -> str:
    """Another CPython that has what ringcast needs: the environment that `make pythons` makes, or one on the path."""
    if version == f"{sys.version_info.major}.{sys.version_info.minor}":
        pytest.skip("the Python of this run")
    for python in (str(ROOT / ".cache" / f"python-{version}" / "bin" / "python"), f"python{version}"):
        try:
            subprocess.run([python, "-c", "import cryptography, msgspec"], capture_output=True, check=True)
        except (OSError, subprocess.CalledProcessError):
            continue
        return python
    pytest.skip(f"no CPython {version} with ringcast's packages here; `make pythons` makes one")


def replay(python: str, hash_seed: str) -> str:
    env = os.environ | {"PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(ROOT / "src")}
    return subprocess.run([python, "-c", REPLAY], env=env, capture_output=True, text=True, check=True).stdout


def test_the_same_seed_is_the_same_run_in_any_number_of_processes() -> None:
    tasks = [Task(seed, Asked((2, 2), workload=workload)) for seed, workload in ((1, "mixed"), (3, "rejoin"))]
    alone, spread = ({o.seed: o.trace_hash for o in run_all(tasks, processes)} for processes in (1, 2))
    assert alone == spread and len(alone) == 2


def test_a_frozen_member_does_nothing_and_catches_up() -> None:
    cluster = Cluster(2, seed=1)
    cluster.faults.begin(freeze := Fault("freeze", 0, SECOND, ("B",)))
    cluster.send("A", b"x")
    cluster.send("B", b"y")
    cluster.run_for(500 * MS)
    assert cluster.read("B", "A") == cluster.read("A", "B") == []
    cluster.faults.end(freeze)
    cluster.run_for(100 * MS)
    assert cluster.read("B", "A") == [b"x"]
    assert cluster.read("A", "B") == [b"y"]


def test_that_a_process_stood_still_is_told_also_if_it_crashed_and_its_successor_has_not_begun() -> None:
    """G14 accused it of a wait that it could not end."""
    cluster = Cluster(3, seed=5, config=profile("test"), fixed=False)
    cluster.run_for(2 * SECOND)
    first, since_ns = cluster["B"].address, cluster.clock.now_ns
    cluster.faults.begin(freeze := Fault("freeze", 0, SECOND, ("B",)))
    cluster.run_for(SECOND)
    cluster.crash("B")
    cluster.start("B")
    cluster.run_for(SECOND)
    cluster.faults.end(freeze)
    cluster.run_for(SECOND)
    told = [event for event in cluster.recordings()[0].events if event.kind is Kind.HEAL and event.other]
    assert [(event.peer, event.other) for event in told] == [(first, since_ns)]


def test_a_frozen_members_socket_keeps_only_so_much() -> None:
    config = profile("test", receive_buffer_bytes=4096, capacity=64)
    cluster = Cluster(2, seed=1, config=config)
    cluster["B"].freeze()
    for _ in range(20):
        cluster.send("A", b"x" * 1000)
    cluster.run_for(5 * MS)
    assert cluster["B"].transport.overflows > 0
    cluster["B"].thaw()
    assert cluster.run_until(cluster.is_settled)
    assert len(cluster.read("B", "A")) == 20


def test_two_faults_on_one_path_end_one_by_one() -> None:
    cluster = Cluster(2)
    path = cluster.network.path("A", "B")
    loss, delay = Fault("loss", 0, 1, (), 0.5), Fault("delay", 0, 1, ("A", "B"), 7)
    cluster.faults.begin(loss)
    cluster.faults.begin(delay)
    assert (path.link.loss, path.link.delay_ns) == (0.5, 8 * MS)
    cluster.faults.end(loss)
    assert (path.link.loss, path.link.delay_ns) == (0.0, 8 * MS)
    cluster.faults.end(delay)
    assert path.link == Link()


@pytest.mark.parametrize(
    ("fault", "closed"),
    [
        (Fault("one-way", 0, 1, ("A", "B")), {"AB"}),
        (Fault("deaf", 0, 1, ("A",)), {"BA", "CA", "DA"}),
        (Fault("mute", 0, 1, ("A",)), {"AB", "AC", "AD"}),
        (Fault("isolate", 0, 1, ("A",)), {"AB", "BA", "AC", "CA", "AD", "DA"}),
        (Fault("split", 0, 1, ("A", "B")), {"AC", "CA", "AD", "DA", "BC", "CB", "BD", "DB"}),
        (Fault("bridge", 0, 1, ("A", "B", "C")), {"AD", "DA", "BD", "DB"}),
        (Fault("ring", 0, 1), {"AC", "CA", "BD", "DB"}),
        (Fault("flap", 0, 1, ("A",), 100), {"AB", "BA", "AC", "CA", "AD", "DA"}),
    ],
    ids=lambda value: str(value) if isinstance(value, Fault) else "",
)
def test_each_partition_closes_its_directions(fault: Fault, closed: set[str]) -> None:
    cluster = Cluster(4)
    cluster.faults.begin(fault)
    pairs = {a + b for a in "ABCD" for b in "ABCD" if a != b}
    assert {pair for pair in pairs if cluster.network.path(*pair).is_cut} == closed
    cluster.faults.end(fault)
    assert not any(cluster.network.path(*pair).is_cut for pair in pairs)


def test_faults_and_heals_are_recorded_by_the_harness() -> None:
    cluster = Cluster(2)
    cluster.faults.plan(Fault("loss", 10 * MS, 20 * MS, (), 0.5))
    cluster.run_for(30 * MS)
    cluster.heal(5 * SECOND)
    harness = next(recording for recording in cluster.recordings() if recording.member.name == "harness")
    kinds = [(event.kind, event.t_ns, event.value) for event in harness.events][1:]
    assert kinds == [(Kind.FAULT, 10 * MS, 0), (Kind.HEAL, 20 * MS, 0), (Kind.HEAL, 30 * MS, 5 * SECOND)]


def test_after_the_heal_no_planned_fault_begins() -> None:
    cluster = Cluster(2)
    cluster.faults.plan(Fault("loss", 10 * MS, 20 * MS, (), 0.5))
    cluster.heal()
    cluster.run_for(30 * MS)
    assert cluster.network.path("A", "B").link.loss == 0


def test_a_wrong_clock_leaves_the_recording_in_true_time() -> None:
    cluster = Cluster(2, seed=3)
    cluster["A"].set_clock_rate(1_000_000)
    cluster.run_for(SECOND)
    cluster.send("A", b"x")
    assert cluster["A"].now_ns() == 2 * SECOND
    assert cluster.events("A")[-1].t_ns == SECOND


@pytest.mark.parametrize("kind", [Kind.SUSPEND, Kind.WAIT_START])
@pytest.mark.parametrize(
    ("before", "after", "comes_ns"),
    [
        (0, 0, 3 * SECOND),
        (-500_000, -500_000, 5 * SECOND),  # Simulated seed 40539: twice as late as by a true clock.
        (1_000_000, 0, 2500 * MS),  # Simulated seed 40576: half a second at double speed, one second at the true one.
        (0, 1_000_000, 2250 * MS),
        (-500_000, 1_000_000, 2375 * MS),
    ],
)
def test_a_wrong_clock_leaves_the_moments_that_are_told_ahead_in_true_time(
    kind: Kind, before: int, after: int, comes_ns: int
) -> None:
    cluster = Cluster(2)
    process = cluster["A"]
    recorder = next(recorder for recorder in cluster.recorders if recorder.header.member == process.address)
    process.set_clock_rate(before)
    cluster.run_for(SECOND)
    due_ns = process.now_ns() + 2 * SECOND
    recorder.append(Event(kind, process.now_ns(), value=1, other=due_ns))
    cluster.run_for(500 * MS)
    process.set_clock_rate(after)
    told = next(event for event in cluster.events("A") if event.kind is kind)
    assert (told.t_ns, told.other) == (SECOND, comes_ns)
    cluster.run_for(comes_ns - cluster.clock.now_ns)
    assert process.now_ns() == due_ns
    process.set_clock_rate(-500_000)
    assert told in cluster.events("A"), "it has come, whatever this clock does from here on"


def test_a_wrong_clock_changes_no_moment_that_no_longer_matters() -> None:
    cluster = Cluster(2)
    process = cluster["A"]
    recorder = next(recorder for recorder in cluster.recorders if recorder.header.member == process.address)
    ended = Event(Kind.SUSPEND, 0, value=1, other=2 * SECOND)
    recorder.extend([ended, Event(Kind.RESUME, 0, value=1), Event(Kind.WAIT_START, 0, value=1)])
    process.set_clock_rate(1_000_000)
    assert ended in cluster.events("A")
    assert Event(Kind.WAIT_START, 0, value=1) in cluster.events("A"), "it has no limit"


def test_what_was_sent_to_a_crashed_process_does_not_reach_the_one_in_its_place() -> None:
    """The wire names the process: neither a message nor an ack for A#1 counts for A#2."""
    cluster = Cluster(["A", "B", "C"], seed=4, fixed=False, link=Link(delay_ns=400 * MS))
    assert cluster.run_until(cluster.share_a_view, 30 * SECOND)
    first_life = cluster.address("A")
    cluster.send("B", b"for the first life", to=["A"])
    cluster.crash("A")
    cluster.start("A")
    cluster.run_for(5 * SECOND)
    second = cluster.application("A")
    assert cluster.address("A") == Address("A", first_life.incarnation + 1, first_life.endpoint)
    assert second.private == {}
    assert cluster["A"].driver.drops["meant for another process, perhaps the one before this"] > 0


def test_members_find_each_other_and_live_through_a_crash_a_restart_and_a_leave() -> None:
    cluster = Cluster(4, seed=5, fixed=False)
    assert cluster.run_until(cluster.share_a_view, 10 * SECOND)
    cluster.crash("A")
    assert cluster.run_until(cluster.share_a_view, 10 * SECOND)
    cluster.start("A")
    cluster.run_for(10 * MS)
    assert cluster.run_until(cluster.share_a_view, 10 * SECOND)
    cluster.leave("B")
    assert cluster.run_until(lambda: not cluster.is_alive("B") and cluster.share_a_view(), 10 * SECOND)
    assert sorted(member.name for member in cluster["A"].node.view.members) == ["A", "C", "D"]


def test_a_flapping_cut_opens_and_closes_until_it_ends() -> None:
    cluster = Cluster(2)
    cluster.faults.plan(Fault("flap", 0, 100 * MS, ("A",), 20))
    seen = []
    for _ in range(7):
        cluster.run_for(10 * MS)
        seen.append(cluster.network.path("A", "B").is_cut)
        cluster.run_for(10 * MS)
    assert seen == [True, False, True, False, True, False, False]


def test_what_waits_for_one_that_left_is_given_up_and_not_tried_message_by_message() -> None:
    """Simulated seed 210: with one slot, each message took the limit of a stream that nobody acks."""
    cluster = Cluster(3, fixed=False, config=profile("test", stream_capacity=1))
    assert cluster.run_until(lambda: cluster.share_a_view() and len(cluster["A"].node.view.members) == 3)
    gone = cluster.address("C")
    cluster.crash("C")
    for number in range(20):
        cluster.application("A").put(Outbound(b"%d" % number, (gone,)))
    assert cluster.run_until(lambda: gone not in cluster["A"].node.view)
    cluster.run_for(5 * SECOND)
    assert not cluster.application("A").outbox
    assert cluster["A"].node.peers.is_idle
