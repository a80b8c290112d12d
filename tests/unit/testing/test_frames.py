"""Frames of real groups, by what they are: dropped, held, delayed, copied or put out of order, in one line each."""

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest

from ringcast import UsageError
from ringcast.sim import KIND_CUTS, LINK_CHANGES, MEMBER_FAULTS, PARTITIONS
from ringcast.testing import FRAME_KINDS, World
from unit.testing.stores import Log

GUIDE = Path(__file__).resolve().parents[3] / "docs" / "testing-your-service.md"


def reads(app: Log) -> list[bytes]:
    return app.read


async def talk(app: Log, count: int = 10) -> None:
    for number in range(count):
        await app.say(str(number))
        await asyncio.sleep(0.002)


def test_every_ack_of_a_member_is_held_for_two_seconds() -> None:
    with World(Log, 3) as world:
        world.settle()
        held = world.hold("ack", sender="B", seconds=2)
        began = world.now
        world.do("A", world.apps["A"].say("x"))
        world.do("A", world.apps["A"].group.flush())  # until everybody has acked
        assert held.caught > 0 and held.is_over
        assert 2 < world.now - began < 2.5
        assert world.same(reads) == [b"x"]


def test_what_is_dropped_is_repaired_and_only_so_many_are() -> None:
    with World(Log, 3) as world:
        world.settle()
        rule = world.drop("data", "A", "C", times=2)
        world.do("A", talk(world.apps["A"]))
        world.settle()
        assert (rule.caught, rule.is_over) == (2, True)
        assert world.same(reads) == [str(number).encode() for number in range(10)]
        assert any("asks A#1" in line for line in world.story())


def test_copies_and_disorder_are_not_seen_by_applications() -> None:
    with World(Log, 3, seed=4) as world:
        with world.copy("data", copies=3) as copied, world.reorder("data", within=0.02):
            world.do("A", talk(world.apps["A"]))
        assert copied.caught >= 20
        world.settle()
        assert world.same(reads) == [str(number).encode() for number in range(10)]


def test_a_control_message_is_named_by_its_type() -> None:
    with World(Log, 3) as world:
        world.settle()
        late = world.delay("newview", to="B", by=0.5, times=1)
        world.leave("C")
        assert late.caught == 1
        assert len(world["A"].group.members) == 2  # type: ignore[union-attr]
        assert len(world["B"].group.members) == 3  # type: ignore[union-attr]
        world.agree()


def test_held_frames_go_on_when_the_world_heals_and_nothing_is_caught_any_more() -> None:
    with World(Log, 2) as world:
        rule = world.hold(sender="A")
        world.spawn("A", world.apps["A"].say("x"))
        world.advance(0.1)
        assert world.apps["B"].read == [] and rule.held
        world.heal()
        world.settle()
        assert world.same(reads) == [b"x"] and not rule.held and rule.is_over
        rule.end()


def test_the_same_rules_and_the_same_seed_are_the_same_run() -> None:
    def run() -> str:
        with World(Log, 3, seed=9) as world:
            world.reorder("data", within=0.05)
            world.drop("ack", times=3)
            world.do("A", talk(world.apps["A"]))
            world.heal()
            world.settle()
            return world.trace_hash()

    assert run() == run()


def test_what_no_frame_is_called_and_who_is_nobody_are_refused() -> None:
    with World(Log, 2) as world:
        with pytest.raises(UsageError, match="no frame is called 'acks'; known are data, stream"):
            world.drop("acks")
        with pytest.raises(UsageError, match="would catch none"):
            world.drop("ack", times=0)
        assert not world.network.rules
    with pytest.raises(UsageError, match="a rule was for 'X', and there never was one"), World(Log, 2) as world:
        world.hold("ack", sender="X").end()  # It might have started later.
    assert {"data", "ack", "heartbeat", "newview", "highest"} <= set(FRAME_KINDS)


@pytest.mark.parametrize("kind", [*LINK_CHANGES, *PARTITIONS, *KIND_CUTS, *MEMBER_FAULTS, "crash", "death", "leave"])
def test_every_fault_that_a_seed_can_draw_is_done_by_name_or_refused(kind: str) -> None:
    named = {"one-way": "AB", "bridge": "AB", "ring": "", "loss": "", "death": "C"}.get(kind, "B")
    amount = {"flap": 50.0, "delay": 20.0, "jitter": 20.0, "slow-link": 100_000.0, "clock": 5000.0}.get(kind, 0.3)
    with World(Log, 4) as world:
        if kind in ("stop-reading", "slow-reading"):
            with pytest.raises(UsageError, match="its application reads when it wants to"):
                world.fault(kind, *named, amount=amount)
            return
        world.fault(kind, *named, amount=amount)
        world.spawn("A", world.apps["A"].say("x"))
        world.advance(1)
        assert any(kind in line or (kind == "death" and "crash" in line) for line in world.story()), world.story()
        world.heal()
        world.agree()
        assert not world["A"].is_frozen


@pytest.mark.parametrize(
    ("kind", "amount", "words"),
    [("loss", 5.0, "cannot be of amount 5"), ("flap", 0.0, "needs an amount"), ("clock", -1e6, "stand still")],
)
def test_an_amount_that_makes_no_sense_is_refused_and_nothing_has_happened(
    kind: str, amount: float, words: str
) -> None:
    with World(Log, 2) as world:
        with pytest.raises(UsageError, match=words):
            world.fault(kind, "A", amount=amount)
        assert not world.faults.active


class Slow(Log):
    """An application that lets its reading be slowed down."""

    read_every_ns: int | None = 0

    def read_every(self, pause_ns: int | None) -> None:
        self.read_every_ns = pause_ns


def test_a_pace_that_the_test_has_set_is_not_undone_by_faults_starts_and_heals() -> None:
    with World(Slow, 3) as world:
        world.apps["A"].read_every(None)
        world.fault("loss", amount=0.1)
        world.start("D")
        world.heal()
        assert world.apps["A"].read_every_ns is None
        world.fault("slow-reading", "A", amount=2.0)
        assert world.apps["A"].read_every_ns == 2_000_000
        world.heal()
        assert world.apps["A"].read_every_ns is None
        world.freeze("B")
        world.fault("loss", amount=0.1)
        assert world["B"].is_frozen
        world.heal()
        world.agree()


def test_the_example_of_the_guide_runs() -> None:
    blocks = re.findall(r"```python\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    (text,) = [block for block in blocks if "world.hold(" in block]
    names: dict[str, Any] = {"Log": Log}
    exec(text, names)
    tests = [value for name, value in names.items() if name.startswith("test_")]
    assert tests
    for test in tests:
        worlds: list[World] = []

        def make(app: Any, worlds: list[World] = worlds, **options: Any) -> World:
            worlds.append(World(app, **options))
            return worlds[-1]

        test(make)
        for world in worlds:
            world.close()
