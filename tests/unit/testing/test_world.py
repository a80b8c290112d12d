"""A user's application in the simulated world: the same Group, faults, virtual time, and a verdict for free."""

import asyncio
import gc
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from ringcast import Group, Message, NotPrimary, UsageError, WaitExpired
from ringcast.model import Kind, profile
from ringcast.sim import Link
from ringcast.sim.planted import KNOWN, plant
from ringcast.testing import Broke, Diverged, Unsettled, Violated, World
from unit.testing.stores import Forgetful, Log, Words, fail, spin


def reads(app: Log) -> list[bytes]:
    return app.read


def test_what_one_sends_everybody_reads() -> None:
    with World(Log, 3) as world:
        world.do("A", world.apps["A"].say("hello"))
        world.settle()
        assert world.same(reads) == [b"hello"]


def test_the_one_order_is_the_same_everywhere() -> None:
    with World(Log, 4, seed=3) as world:
        for number in range(10):
            for name, app in world.apps.items():
                world.spawn(name, app.say_in_order(f"{name}{number}"))
        world.settle()
        assert len(world.same(reads)) == 40


def test_barrier_stamp_and_after_work_in_virtual_time() -> None:
    async def ask(app: Log, stamp: str) -> list[bytes]:
        await app.group.after(stamp)
        return app.read

    with World(Log, 3) as world:
        world.do("A", world.apps["A"].say_in_order("first"))
        stamp = world.do("A", world.apps["A"].group.barrier())
        assert world.do("B", ask(world.apps["B"], stamp)) == [b"first"]


def test_a_batch_a_flush_and_words_for_what_waits() -> None:
    async def work(app: Log) -> str:
        await app.group.send_many([b"1", b"2", b"3"])
        await app.group.flush()
        return app.group.explain()

    with World(Log, 3) as world:
        assert "nothing waits" in world.do("B", work(world.apps["B"]))
        world.settle()
        assert world.same(reads) == [b"1", b"2", b"3"]


def test_each_side_of_a_partition_has_its_own_view_and_heals() -> None:
    with World(Log, 5, seed=2) as world:
        world.partition("AB")
        world.advance(5)
        assert [len(process.group.members) for process in world.running() if process.group] == [2, 2, 3, 3, 3]
        world.heal()
        world.agree()
        assert world["A"].group is not None and len(world["A"].group.members) == 5


def test_three_sides_are_three_views() -> None:
    with World(Log, 5) as world:
        world.partition("A", "BC")
        world.advance(5)
        assert [len(process.group.members) for process in world.running() if process.group] == [1, 2, 2, 2, 2]
        world.heal()
        world.agree()


def test_an_application_that_forgets_about_merges_is_caught() -> None:
    with pytest.raises(Diverged) as caught, World(Forgetful, 5, seed=7) as world:
        world.partition("AB")
        world.advance(5)
        world.do("A", world.apps["A"].put("x", "1"))
        world.heal()
        world.settle()
        world.same(lambda app: app.data)
    assert "A, B hold {'x': '1'}; C, D, E hold {}" in str(caught.value)
    assert "seed=7" in str(caught.value)


def test_a_process_that_crashes_has_no_time_to_tidy_up_and_starts_without_memory() -> None:
    with World(Log, 3) as world:
        world.do("A", world.apps["A"].say("before"))
        world.settle()
        gone = world.apps["C"]
        world.crash("C")
        world.advance(3)
        assert gone.ended == ""
        world.start("C")
        world.agree()
        assert world.apps["C"] is not gone and world.apps["C"].read == []
        assert str(world.apps["C"].group.me) == "C#2"
    assert gone.ended == "tidied up"  # only so that nothing is left behind when the world is over


def test_the_recording_of_a_crash_ends_with_the_crash() -> None:
    """Its send waits for B, and is cancelled when the world is over: A did not do that (`make pause-runs`, 420)."""
    with World(Log, 3, config=profile("test", capacity=4)) as world:
        world.freeze("B")
        world.spawn("A", world.apps["A"].group.send_many([b"x"] * 10))
        world.advance(0.1)
        world.crash("A")
        world.advance(3)
        world.thaw("B")
        world.agree()
    recording = next(recorder for recorder in world.recorders if recorder.header.member.name == "A")
    kinds = [event.kind for event in recording.events]
    assert kinds.count(Kind.WAIT_START) > kinds.count(Kind.WAIT_END)
    assert kinds[-1] is Kind.CLOSED


def test_one_that_leaves_is_missed_by_nobody() -> None:
    with World(Log, 3) as world:
        world.leave("B")
        world.agree()
        assert world["B"].is_over and list(world.apps) == ["A", "C"]
        with pytest.raises(UsageError, match="B does not run"):
            world.do("B", asyncio.sleep(1))


def test_a_frozen_process_is_excluded_and_comes_back_by_merge() -> None:
    with World(Log, 3) as world:
        world.freeze("C")
        world.advance(5)
        assert [len(world[name].group.members) for name in "AB"] == [2, 2]  # type: ignore[union-attr]
        world.thaw("C")
        world.agree()
        assert str(world.apps["C"].group.me) == "C#1"


def test_sending_into_a_full_window_waits_and_says_why() -> None:
    async def sends_much(group: Group) -> None:
        for _ in range(1000):
            await group.send(b"x", timeout=0.2)

    with World(Log, 2) as world:
        world.fault("mute", "B")
        with pytest.raises(WaitExpired, match="B"):
            world.do("A", sends_much(world.apps["A"].group))
        world.heal()
        world.settle()


def test_a_newcomer_gets_the_state_of_the_others() -> None:
    with World(Words, 2) as world:
        world.do("A", world.apps["A"].say("one"))
        world.settle()
        world.start("C")
        world.agree()
        assert world.apps["C"].words == ["one"]


def test_the_merge_hook_of_an_application_makes_the_sides_one() -> None:
    with World(Words, 4, seed=5) as world:
        world.partition("AB")
        world.advance(5)
        world.do("A", world.apps["A"].say("left"))
        world.do("D", world.apps["D"].say("right"))
        world.heal()
        world.settle()
        assert world.same(lambda app: app.words) == ["left", "right"]


def test_with_a_primary_partition_the_smaller_side_may_not_send() -> None:
    with World(Words, 5, partition="primary") as world:
        world.partition("AB")
        world.advance(5)
        with pytest.raises(NotPrimary):
            world.do("A", world.apps["A"].say("too few"))
        world.do("C", world.apps["C"].say("enough"))
        world.heal()
        world.settle()
        assert world.same(lambda app: app.words) == ["enough"]


def test_a_service_may_be_one_function() -> None:
    heard: list[bytes] = []

    async def service(group: Group) -> None:
        await asyncio.sleep(1)
        await group.send(group.me.name.encode())
        async for event in group:
            if isinstance(event, Message):
                heard.append(event.payload)

    with World(service, 2) as world:
        world.advance(2)
    assert sorted(heard) == [b"A", b"A", b"B", b"B"]


def test_what_an_application_raises_ends_the_test_with_its_name_and_the_seed() -> None:
    said = "A: its application ended with an error: ValueError: no such key"
    with pytest.raises(Broke, match=said) as caught, World(fail, 2, seed=5) as world:
        world.advance(5)
    assert isinstance(caught.value.__cause__, ValueError)
    assert any("seed=5" in note for note in caught.value.__notes__)


def test_a_task_that_spins_is_told_apart_from_one_that_waits() -> None:
    with pytest.raises(Broke, match="spins without letting time pass"), World(spin, 1) as world:
        world.advance(1)


def test_a_world_that_never_becomes_one_group_says_so_and_leaves_nothing_behind() -> None:
    with pytest.raises(Unsettled, match="not within 30 s: one view of all"):
        World(Log, 2, link=Link(loss=1.0))


def test_what_does_not_come_within_its_limit_is_explained() -> None:
    with pytest.raises(Unsettled, match="not within 3 s: one view of all") as caught, World(Log, 3) as world:
        world.isolate("A")
        world.advance(3)
        world.agree(3)
    assert "A in A#1|3 [A#1]: " in str(caught.value)


def test_a_broken_guarantee_of_ringcast_itself_is_found_at_the_end() -> None:
    bug = next(bug for bug in KNOWN if bug.name == "purge without the silent member")
    with plant(bug), pytest.raises(Violated, match="G3: "), World(Log, 3) as world:
        world.fault("mute", "C")
        world.do("A", world.apps["A"].say("x"))
        world.advance(0.3)
        world.heal()


def test_trouble_is_drawn_from_the_seed_and_ends() -> None:
    with World(Log, 4, seed=11) as world:
        world.trouble(5, faults=6)
        world.settle()
        assert len(world.apps) == 4
        begun = [line for line in world.story() if "begins:" in line]
        assert len(begun) >= 4


def test_names_and_misuse_are_told_in_words() -> None:
    with World(Log, ["left", "right"]) as world:
        with pytest.raises(UsageError, match="there is no 'middle' in this world of left, right"):
            world.isolate("middle")
        with pytest.raises(UsageError, match="left still runs"):
            world.start("left")


def run_with_trouble(seed: int) -> str:
    with World(Log, 4, seed=seed) as world:
        world.spawn("A", world.apps["A"].say_in_order("x"))
        world.trouble(4, faults=5)
        world.settle()
    return world.trace_hash()


def test_a_seed_is_one_run_and_another_seed_another() -> None:
    assert run_with_trouble(1) == run_with_trouble(1) != run_with_trouble(2)


@pytest.mark.parametrize("hash_seed", ["1", "2"])
def test_a_run_depends_on_nothing_but_its_seed(hash_seed: str) -> None:
    code = "from unit.testing.test_world import run_with_trouble; print(run_with_trouble(3))"
    root = Path(__file__).resolve().parents[2]
    env = {"PYTHONHASHSEED": hash_seed, "PYTHONPATH": f"{root}:{root.parent / 'src'}"}
    said = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    assert said.stdout.strip() == run_with_trouble(3)


@pytest.mark.parametrize(
    ("kind", "members", "words"),
    [
        ("stop-reading", ("A",), "the fault 'stop-reading' cannot be done to A: its application reads when it wants"),
        ("no-acks", ("A", "B", "C"), "the fault 'no-acks' is for all links"),
        ("earthquake", (), "a world cannot do the fault 'earthquake'"),
        ("crash", (), "the fault 'crash' needs 1 members, 0 were named"),
        ("death", ("A", "B"), "the fault 'death' is for one member that runs"),
        ("one-way", ("A",), "the fault 'one-way' needs 2 members, 1 were named"),
        ("isolate", (), "the fault 'isolate' needs 1 members, 0 were named"),
        ("loss", ("A", "B", "C"), "the fault 'loss' is for all links"),
    ],
)
def test_a_fault_that_a_world_cannot_do_is_refused_and_not_recorded(
    kind: str, members: tuple[str, ...], words: str
) -> None:
    with World(Log, 3) as world:
        before = world.trace_hash()
        with pytest.raises(UsageError, match=words):
            world.fault(kind, *members)
        assert world.trace_hash() == before
        world.abandon()


class SlowWords(Words):
    """Takes its time to load the state that a merge made."""

    async def set_state(self, chunks: AsyncIterator[bytes]) -> None:
        await asyncio.sleep(0.7)
        await super().set_state(chunks)


@pytest.mark.parametrize("seed", range(5))
def test_what_is_settled_has_one_state_after_a_merge(seed: int) -> None:
    with World(SlowWords, 4, seed=seed) as world:
        world.partition("AB")
        world.advance(5)
        world.do("A", world.apps["A"].say("left"))
        world.do("C", world.apps["C"].say("right"))
        world.heal()
        world.settle()
        assert world.same(lambda app: app.words) == ["left", "right"]


def test_a_member_that_is_suspected_is_excluded_and_comes_back() -> None:
    with World(Log, 3) as world:
        world.suspect("A", "C")
        world.advance(0.5)
        assert any("C#1" in line and "suspects" in line for line in world.story()), world.story()
        world.heal()
        world.agree()
        assert 2 in world.apps["A"].views


def test_a_view_without_a_member_is_one_call() -> None:
    with World(Log, 4) as world:
        world.exclude("B", "D")
        assert [member.name for member in world["A"].group.members] == ["A", "C"]  # type: ignore[union-attr]
        world.heal()
        world.agree()
        world.exclude("A")  # the coordinator, and after a heal
        world.heal()
        world.agree()


def test_who_is_not_in_the_view_cannot_be_suspected() -> None:
    with World(Log, 3) as world:
        for by, suspect in (("A", "A"), ("A", "X")):
            with pytest.raises(UsageError, match=f"A cannot suspect {suspect}"):
                world.suspect(by, suspect)
        world.crash("B")
        with pytest.raises(UsageError, match="B is in no group"):
            world.suspect("B", "A")


def test_what_lies_unread_is_named_when_a_world_does_not_settle() -> None:
    async def reads_nothing(group: Group) -> None:
        await asyncio.sleep(1000)

    world = World(reads_nothing, 2)
    with pytest.raises(Unsettled, match=r"1 not read by its application, first view A#1\|"):
        world.settle(limit=2)
    world.abandon()


def test_one_exclusion_is_logged_once_with_the_name_of_the_excluded(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("WARNING", "ringcast"), World(Log, 5, seed=1, partition="primary") as world:
        world.isolate("E")
        world.advance(3)
        world.heal()
        world.agree()
    told = [record.message for record in caplog.records if "excluded" in record.message]
    assert told and len(told) == len(set(told)), told
    assert all(words.startswith("E#") for words in told), told


def test_nothing_happens_to_a_name_that_nobody_has() -> None:
    with World(Log, 2) as world:
        before = world.trace_hash()
        for act in (world.crash, world.leave, world.freeze):
            with pytest.raises(UsageError, match="there is no 'Z' in this world of A, B"):
                act("Z")
        assert world.trace_hash() == before


def test_a_world_leaves_the_collector_as_it_was() -> None:
    """Also one that breaks; while time passes it collects more rarely, unless it is off."""
    before, seen = gc.get_threshold(), []

    async def look(group: Group) -> None:
        seen.append(gc.get_threshold()[0])
        async for event in group:
            if isinstance(event, Message):
                raise RuntimeError("on purpose")

    with World(look, 1) as world:
        world.advance(1)
        assert gc.get_threshold() == before
        gc.set_threshold(0)
        try:
            with pytest.raises(Broke, match="on purpose"):
                world.do("A", world["A"].group.send(b"x"))  # type: ignore[union-attr]
                world.advance(1)
            assert gc.get_threshold()[0] == 0
        finally:
            gc.set_threshold(*before)
        world.abandon()
    assert seen[0] > before[0]
