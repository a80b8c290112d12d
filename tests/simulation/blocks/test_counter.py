"""The counter where processes come and go: shares of members that ended are folded, and nothing counts twice."""

from __future__ import annotations

from random import Random

import pytest

from ringcast import RingcastError, UsageError
from ringcast.blocks import Apart, ReplicatedCounter, counter
from ringcast.blocks.block import Block
from ringcast.testing import World
from simulation.blocks.kit import FIRST_SEED, SEEDS, Service


class Counts(Service):
    def make(self) -> list[Block]:
        self.counter = ReplicatedCounter("votes", str)
        return [self.counter]


def count(world: World, name: str, amount: int = 1, key: str = "n") -> int:
    return world.do(name, world.apps[name].counter.add(key, amount))


def come_and_go(world: World, times: int, *, crashing: bool = False) -> int:
    """D comes, counts and goes again; every time it is another incarnation."""
    counted = 0
    for number in range(times):
        world.start("D")
        assert world.run_until(lambda: is_in(world, "D") and world.apps["D"].counter._opened is not None)
        count(world, "D", number + 1)
        counted += number + 1
        (world.crash if crashing else world.leave)("D")
        assert world.run_until(lambda: not is_in(world, "D"))
    return counted


def is_in(world: World, name: str) -> bool:
    return any(member.name == name for member in world.apps["A"].shared.view.members)


@pytest.mark.parametrize("crashing", [False, True], ids=["leaving", "crashing"])
@pytest.mark.parametrize("partition", ["all", "primary"])
def test_a_counter_goes_on_where_processes_come_and_go(
    partition: str, crashing: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At the most shares every `add` anywhere was refused, until a reset that loses all counts."""
    monkeypatch.setattr(counter, "MOST_SHARES", 8)
    monkeypatch.setattr(counter, "MOST_ENDED", 4)
    with World(Counts, members=3, partition=partition) as world:  # type: ignore[arg-type]
        total = sum(count(world, name, 100) and 100 for name in "ABC")
        total += come_and_go(world, 20, crashing=crashing)
        assert count(world, "A") == total + 1
        world.settle(60)
        assert world.same(lambda app: app.counter["n"]) == total + 1
        assert world.same(lambda app: app.counter._count) <= 8


@pytest.mark.parametrize("partition", ["all", "primary"])
def test_a_member_that_was_cut_off_and_lives_is_counted_once(partition: str) -> None:
    with World(Counts, members=5, partition=partition) as world:  # type: ignore[arg-type]
        total = sum(count(world, name, 10) and 10 for name in "ABCDE")
        world.partition("ABC", "DE")
        world.advance(10)
        total += sum(count(world, name, 1) and 1 for name in "ABC")
        if partition == "all":
            total += sum(count(world, name, 1) and 1 for name in "DE")
        world.heal()
        world.settle(60)
        assert world.same(lambda app: app.counter["n"]) == total
        assert count(world, "D", 5) == total + 5
        world.exclude("E")
        world.advance(1)
        world.heal()
        world.settle(60)
        assert count(world, "E", 5) == total + 10
        assert world.same(lambda app: app.counter["n"]) == total + 10


def test_a_side_that_saw_less_or_more_of_a_member_that_ended_elsewhere_is_counted_once() -> None:
    with World(Counts, members=4) as world:
        total = count(world, "D", 10)
        world.partition("AB", "CD")
        world.advance(10)
        total += 7
        count(world, "D", 7)  # which A and B do not know
        world.crash("D")
        world.advance(5)
        total += count(world, "C", 1) - 17
        world.heal()
        world.start("D")
        world.settle(60)
        assert world.same(lambda app: app.counter["n"]) == total == 18
        assert count(world, "D", 2) == 20
        world.leave("D")
        world.agree(60)
        assert world.same(lambda app: app.counter["n"]) == 20


def test_a_side_that_was_away_while_more_were_folded_than_are_remembered_stays_apart(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(counter, "MOST_ENDED", 2)
    with World(Counts, members=4) as world:
        count(world, "C", 10)
        world.partition("ABD", "C")
        world.advance(10)
        world.leave("D")
        come_and_go(world, 4)
        world.heal()
        world.advance(20)
        with pytest.raises(Apart, match="a side was away while 'votes' folded the counts of members that had ended"):
            count(world, "A")
        world.do("A", world.apps["A"].counter.reset())
        assert count(world, "C") == 1


@pytest.mark.parametrize("partition", ["all", "primary"])
@pytest.mark.parametrize("seed", range(FIRST_SEED, FIRST_SEED + SEEDS))
def test_whatever_comes_goes_and_parts_every_sure_addition_counts_once(seed: int, partition: str) -> None:
    random = Random(f"{seed} {partition}")
    sure = possible = 0
    names = ["A", "B", "C", "D", "E"]
    with World(Counts, members=names, seed=seed, partition=partition) as world:  # type: ignore[arg-type]
        for _ in range(25):
            running = [process.name for process in world.running()]
            match random.choice(["count"] * 5 + ["part", "heal", "heal", "crash", "leave", "start", "start"]):
                case "count":
                    amount = random.randint(1, 9)
                    name = random.choice(running)
                    possible += amount
                    try:
                        world.do(name, world.apps[name].counter.add("n", amount, timeout=5))
                        sure += amount
                    except (RingcastError, UsageError):
                        pass
                case "part" if len(running) > 3:
                    random.shuffle(running)
                    world.partition(running[:2], running[2:])
                case "heal":
                    world.heal()
                    world.settle(120)
                case "crash" | "leave" as how if len(running) > 3:
                    world.heal()
                    world.settle(120)  # A crashed member takes along what only it knew.
                    world.crash(running[-1]) if how == "crash" else world.leave(running[-1])
                case "start" if len(running) < 5:
                    world.start(next(name for name in names if name not in running))
            world.advance(random.random() * 4)
        world.heal()
        world.settle(120)
        assert sure <= world.same(lambda app: app.counter["n"]) <= possible
