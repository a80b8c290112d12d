"""States become one after a merge: exactly, wherever somebody dies (the merger, a giver, anybody)."""

from __future__ import annotations

import pytest

from integration.long import either
from ringcast.model import MS, SECOND, Kind
from ringcast.testing import World
from simulation.ledgers import Ledger, apart, is_waiting, numbered, one_list, send


@pytest.mark.parametrize("seed", range(4))
def test_all_have_the_merged_state_and_every_update_once(seed: int) -> None:
    with apart(seed) as world:
        world.heal()
        for name in "BE":  # Both sides go on sending through the merge.
            send(world, name, *numbered(f"{name}-", 200))
        world.agree()
        world.run_until(lambda: all(world.apps[name].sent >= 200 for name in "BE"))
        assert len(one_list(world)) == 461
        assert [app.apart for app in world.apps.values()] == [[]] * 5
        assert [app.hooked for app in world.apps.values()] == [[2], [], [], [], []]


def test_a_state_that_comes_before_its_merge_view_is_confirmed_to_the_coordinator_of_that_view() -> None:
    """E hears of the view late: if it told D, who led its side, A would wait for it and let nobody join."""
    with apart(1) as world:
        world.heal()
        late = world.delay("newview", "D", "E", by=0.3)
        world.agree()
        assert late.caught
        late.end()
        world.start("F")
        world.agree()
        assert len(one_list(world)) == 61


MOST_PACKETS = 120
STEP = int(either(3, 30))


@pytest.mark.parametrize("victim", list("ABDE"))
def test_wherever_somebody_dies_the_others_end_with_one_state_and_lose_no_update(victim: str) -> None:
    """A leads and merges, D gives the state of its side; the crash is moved on packet by packet."""
    for packets in range(0, MOST_PACKETS, STEP):
        with apart(packets, each=60, pad=200) as world:
            die_after(world, victim, packets)
            world.heal()
            world.advance(0.04)
            send(world, "C", *numbered("c", 20))
            world.advance(1)
            if world.is_alive(victim):
                world.crash(victim)
            state = one_list(world)
            assert {payload for _, payload in state} >= {*numbered("l", 60, 200), *numbered("r", 60, 200)}, packets
            assert all(app.apart == [] for app in world.apps.values()), packets


def die_after(world: World, victim: str, packets: int) -> None:
    """The victim is gone as soon as it has sent so many packets from now on."""
    left = packets

    def count(sender: str, to: str, packet: object) -> bool:
        nonlocal left
        if sender == victim and world.is_alive(victim):
            left -= 1
            if left < 0:
                world.crash(victim)
        return False

    world.network.snares.append(count)


def test_who_has_the_merged_state_gives_it_when_the_merger_dies_half_way() -> None:
    """B has it, nobody else: the state of B, as it is at the view without A, is for all; what they held is in it."""
    with apart(5, each=60, pad=200) as world:
        a = world.apps["A"]
        a.merges.clear()
        world.heal()
        assert world.run_until(lambda: a.hooked == [2])
        world.drop(sender="A", to=["C", "D", "E"])
        world["A"].loop.call_soon(a.merges.set)
        assert world.run_until(lambda: world.apps["B"].loaded == 1)
        send(world, "B", *numbered("b", 10))
        world.advance(0.005)
        world.crash("A")
        world.heal()
        assert len(one_list(world)) == 1 + 60 + 60 + 10
        assert [world.apps[name].hooked for name in "BCDE"] == [[], [], [], []]


@pytest.mark.parametrize("seed", range(6))
def test_a_merger_that_dies_while_it_gives_leaves_one_state(seed: int) -> None:
    """Whoever ended between its answer and the view did not count; so nobody is ahead of the others."""
    with apart(seed, each=60, pad=200) as world:
        world.heal()
        world.fault("loss", amount=0.1)
        assert world.run_until(lambda: bool(world.apps["A"].hooked))
        world.run_until(lambda: False, seed * 2 * MS)
        world.crash("A")
        send(world, "C", *numbered("c", 20))
        world.advance(2)
        world.heal()
        assert len(one_list(world)) == 141


def test_a_hook_that_fails_leaves_everybody_with_its_own_state_and_a_reason() -> None:
    with apart(1) as world:
        world.apps["A"].error = "cannot be one"
        before = {name: list(app.got) for name, app in world.apps.items()}
        world.heal()
        world.settle()
        assert {tuple(app.apart) for app in world.apps.values()} == {("merge_state failed: ValueError: cannot be one",)}
        send(world, "D", b"after")
        world.settle()
        assert {name: app.got for name, app in world.apps.items()} == {
            name: [*entries, ("D", b"after")] for name, entries in before.items()
        }
        events = next(recorder.events for recorder in world.recorders if recorder.header.member.name == "C")
        assert [(event.detail or {})["step"] for event in events if event.kind is Kind.REUNION] == ["begin", "apart"]


def test_a_failure_that_is_told_before_the_merge_view_is_confirmed_to_the_coordinator_of_that_view() -> None:
    """Simulated state seed 26 of 2..5: E confirmed it to D, who had led its side, and A let nobody join."""
    with apart(1) as world:
        world.apps["A"].error = "cannot be one"
        world.heal()
        late = world.delay("newview", "D", "E", by=0.3)
        world.agree()
        assert late.caught
        late.end()
        assert world.run_until(lambda: all(app.apart for app in world.apps.values()))
        world.start("F")
        world.agree()


@pytest.mark.parametrize("who", ["A", "B", "D"])
def test_a_member_whose_application_merges_nothing_lets_nobody_wait(who: str) -> None:
    """A would merge, D would give, B would only get."""
    with apart(2) as world:
        coordination = world[who].node.coordination
        assert coordination is not None
        coordination.exchange.reunion.takes_part = False
        world.heal()
        world.agree()
        others = [app for name, app in world.apps.items() if name != who]
        assert world.run_until(lambda: all(app.apart or app.loaded for app in others), 2 * SECOND)
        why = [] if who == "B" else [f"{world[who].address} was given no merge_state"]
        assert all(app.apart == why for app in others)
        assert not is_waiting(world, who)


@pytest.mark.parametrize("who", ["A", "D"])
def test_who_does_not_read_is_named_after_a_while_and_nobody_waits_for_ever(who: str) -> None:
    """A merges, D gives."""
    with apart(3) as world:
        still = world.apps[who]
        still.reads.clear()
        send(world, who, b"last")  # Its reader stops behind this one.
        world.advance(0.5)
        world.heal()
        world.agree()
        others = [app for name, app in world.apps.items() if name != who]
        assert world.run_until(lambda: all(app.apart for app in others), 20 * SECOND)
        if who == "D":
            assert f"from {world['D'].address}; does it read its events?" in world.apps["B"].apart[0]
        world[who].loop.call_soon(still.reads.set)


def test_what_is_sent_behind_the_merge_view_is_held_within_the_window_until_the_state_is_there() -> None:
    with apart(4) as world:
        a, e = world.apps["A"], world.apps["E"]
        a.merges.clear()
        world.heal()
        assert world.run_until(lambda: all(is_waiting(world, name) for name in "ABCDE") and bool(a.hooked))
        sent = e.sent
        send(world, "E", *numbered("e", 1_000))
        world.advance(0.5)
        assert e.sent - sent <= world["A"].node.view.capacity
        assert [len(app.got) for app in world.apps.values()] == [31] * 5
        world["A"].loop.call_soon(a.merges.set)
        assert world.run_until(lambda: e.sent - sent == 1_000)
        assert len(one_list(world)) == 1_061


def test_three_sides_and_an_observer() -> None:
    with World(Ledger, 5, seed=6, observers=["C"]) as world:
        world.partition("AB", "CD", "E")
        world.advance(3)
        for name in "ADE":
            send(world, name, f"from {name}".encode())
        world.advance(0.1)
        world.heal()
        assert len(one_list(world)) == 3
        c = world.apps["C"]
        assert c.hooked == [] and c.loaded >= 1


def test_who_joins_with_state_meanwhile_is_told_to_come_back_and_gets_the_merged_one() -> None:
    with apart(7) as world:
        a = world.apps["A"]
        a.merges.clear()
        world.heal()
        assert world.run_until(lambda: all(is_waiting(world, name) for name in "ABCDE") and bool(a.hooked))
        world.start("J")
        world.advance(1)
        assert not world["J"].node.has_group
        world["A"].loop.call_soon(a.merges.set)
        world.agree()
        assert len(one_list(world)) == 61


@pytest.mark.parametrize("seed", range(5))
def test_a_network_that_splits_again_while_states_become_one(seed: int) -> None:
    """Each side goes on with what it has; after the next heal there is one state, with every update once."""
    with apart(seed, each=60, pad=200) as world:
        world.heal()
        assert world.run_until(lambda: is_waiting(world, "B"))
        world.run_until(lambda: False, seed * 3 * MS)
        world.partition("ABD")
        world.advance(3)
        world.heal()
        assert len(one_list(world)) == 121
