"""States on their way, joined with or merged, when another view comes before they are there."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence

import pytest

from ringcast.core.steps import Until
from ringcast.model import SECOND, Address
from ringcast.sim import Broke
from ringcast.testing import World
from simulation.ledgers import Ledger, apart, entries_of, is_waiting, numbered, one_list, send


class SlowLedger(Ledger):
    """With `loads` closed, `set_state` has read all of the state and does not return."""

    def __init__(self) -> None:
        super().__init__()
        self.begun = 0
        self.loads = asyncio.Event()
        self.loads.set()

    async def set_state(self, chunks: AsyncIterator[bytes]) -> None:
        state = b"".join([chunk async for chunk in chunks])
        self.begun += 1
        await self.loads.wait()
        self.got = entries_of(state)
        self.loaded += 1


class FullLedger(SlowLedger):
    """Has no room for a state."""

    async def set_state(self, chunks: AsyncIterator[bytes]) -> None:
        self.begun += 1
        await self.loads.wait()
        raise OSError("no room")


class LargeLedger(Ledger):
    """Its merged state is larger than what may be on its way."""

    async def merge_state(self, sides: Mapping[tuple[Address, ...], bytes]) -> bytes:
        return await super().merge_state(sides) + b"pad:" + bytes(1_000_000) + b"\n"


def sides_of(*sides: str, seed: int, app: type[Ledger] = Ledger, observers: Sequence[str] = ()) -> World:
    """Cut off from each other; behind what all hold, the last member of each has sent ten messages."""
    world = World(app, list("".join(sides)), seed=seed, observers=observers)
    send(world, "A", b"both")
    world.settle()
    world.partition(*sides)
    world.advance(3)
    for side in sides:
        send(world, side[-1], *numbered(f"{side[-1]}-", 10))
    world.advance(0.5)
    for running in world.apps.values():
        running.loaded = 0
    return world


def meet(world: World, *sides: str) -> None:
    """Everything heals, or all but the cut between these; A has the states of two sides, and its hook stands still."""
    a = world.apps["A"]
    a.hooked.clear()
    a.merges.clear()
    world.heal()
    world.partition(*sides)
    assert world.run_until(lambda: a.hooked == [2])


def merge(world: World) -> None:
    """The hook of A goes on."""
    world["A"].loop.call_soon(world.apps["A"].merges.set)


def merge_for_b_alone(world: World) -> None:
    """A gives the merged state, but to C, D and E nothing comes from it any more."""
    b = world.apps["B"]
    b.loaded = 0
    world.drop(sender="A", to=["C", "D", "E"])
    merge(world)
    assert world.run_until(lambda: b.loaded == 1)


def merge_for_one_alone(world: World, holder: str) -> None:
    """A gives the merged state of all but F to this one only, and dies; then F comes."""
    app = world.apps[holder]
    world.drop("state", sender="A", to=[name for name in world.apps if name not in ("A", holder)])
    merge(world)
    assert world.run_until(lambda: app.loaded == 1)
    world.drop("state", sender=holder)
    world.crash("A")
    until_view_of(world, 4, "B")
    for fault in list(world.faults.active):  # The cut is gone, but what the holder gives is still lost.
        world.faults.end(fault)
    until_view_of(world, 5, "B", "F")


def until_view_of(world: World, size: int, *names: str) -> None:
    assert world.run_until(lambda: all(len(world[name].node.view.members) == size for name in names), 10 * SECOND)


def test_a_joiner_whose_provider_comes_back_in_a_merge_gets_the_merged_state() -> None:
    """It took the join state of its side, given under the MergeView's own name, for the merged state."""
    with World(Ledger, ["A", "B"], seed=3) as world:
        send(world, "A", *numbered("both", 20))
        world.settle()
        no_state = world.drop("state", sender="B")
        world.start("X")
        until_view_of(world, 3, "A")
        world.advance(1.05)
        no_stranger = world.drop("stranger")
        world.suspect("B", "A", "X")
        until_view_of(world, 1, "B")
        send(world, "B", b"only B")
        assert world.run_until(lambda: world["A"].node.view.is_merge, 10 * SECOND)
        no_state.end()
        no_stranger.end()
        assert ("B", b"only B") in one_list(world)


def test_who_was_named_to_give_the_merged_state_and_dies_too_takes_no_message_with_it() -> None:
    """Messages were thrown away as part of a state when its giver was named, not when it was there; it never came."""
    with apart(5, each=60, pad=200) as world:
        meet(world)
        send(world, "C", *numbered("c", 10))
        world.advance(0.1)
        merge_for_b_alone(world)
        world.advance(0.005)
        world.drop("state", sender="B", to=["C", "D", "E"])
        world.crash("A")
        until_view_of(world, 4, "C")
        world.advance(0.05)
        world.crash("B")
        world.heal()
        assert len(one_list(world)) == 1 + 60 + 60 + 10


def test_who_keeps_its_own_state_after_all_reads_what_came_behind_the_merge_view() -> None:
    """The same, where B was named, did not read and so gave nothing: what the others held was gone."""
    with apart(5) as world:
        b = world.apps["B"]
        meet(world)
        send(world, "C", *numbered("c", 10))
        world.advance(0.1)
        merge_for_b_alone(world)
        b.reads.clear()
        send(world, "B", b"b")  # Its reader stops behind this one.
        world.advance(0.01)
        world.crash("A")
        world.heal()
        others = [world.apps[name] for name in "CDE"]
        assert world.run_until(lambda: all(app.apart for app in others), 20 * SECOND)
        world["B"].loop.call_soon(b.reads.set)
        world.advance(0.5)
        assert all({payload for _, payload in app.got} >= {*numbered("c", 10)} for app in others)


def test_a_cut_told_while_an_earlier_state_is_loaded_stays_where_it_was_told() -> None:
    """It was applied when that state was loaded, and messages behind it were thrown away."""
    with sides_of("ABC", "DE", seed=5, app=SlowLedger) as world:
        e = world.apps["E"]
        e.begun = 0
        e.loads.clear()
        world.heal()
        assert world.run_until(lambda: e.begun == 1)
        world.advance(0.3)
        assert not is_waiting(world, "E")
        world.partition("ABC")
        world.advance(1.5)
        meet(world)
        merge_for_b_alone(world)
        world.crash("A")
        until_view_of(world, 4, "E")
        world.heal()
        assert world.run_until(lambda: not is_waiting(world, "C"), 3 * SECOND)
        send(world, "C", *numbered("late", 10))  # Behind the cut of the state that B gives.
        world.advance(0.2)
        world["E"].loop.call_soon(e.loads.set)
        assert len(one_list(world)) == 1 + 10 + 10 + 10


def test_a_word_about_the_first_merge_does_not_count_for_the_second() -> None:
    """It did, and E, who gets the second state late, was dropped from that merge by the view that came first."""
    with sides_of("ABC", "DE", "F", seed=4) as world:
        meet(world, "ABCDE", "F")
        world.heal()  # Now F comes, before the first is made: that one is given up, and all are told so.
        until_view_of(world, 6, "A")
        no_state = world.drop("state", sender="A", to="E")
        merge(world)
        others = "ABCDF"
        assert world.run_until(lambda: all(world.apps[n].loaded and not is_waiting(world, n) for n in others))
        world.advance(0.1)
        assert is_waiting(world, "E")
        world.crash("F")
        until_view_of(world, 5, "A")
        no_state.end()
        one_list(world)
        assert world.apps["E"].loaded == 1


def test_a_side_is_given_by_who_has_its_merged_state() -> None:
    """B gave for its side, and lacked the merged state that D, of the same side, had."""
    with sides_of("ABC", "DE", "F", seed=4) as world:
        d = world.apps["D"]
        meet(world, "ABCDE", "F")
        world.drop("state", sender="A", to=["B", "C", "E"])
        merge(world)
        assert world.run_until(lambda: d.loaded == 1)
        world.drop("state", sender="D")
        world.crash("A")
        until_view_of(world, 4, "B")
        for fault in list(world.faults.active):  # The cut is gone, but what D gives is still lost.
            world.faults.end(fault)
        until_view_of(world, 5, "B")
        world.heal()
        assert len(one_list(world)) == 1 + 10 + 10 + 10


def test_who_confirms_its_state_while_it_suspects_the_coordinator_lets_it_know() -> None:
    """It told only who would lead without A; A was heard again, and admitted no joiner any more."""
    with apart(4) as world:
        meet(world)
        no_state = world.drop("state", sender="A", to="E")
        merge(world)
        assert world.run_until(lambda: not any(is_waiting(world, name) for name in "ABCD"), 2 * SECOND)
        coordination = world["E"].node.coordination
        assert coordination is not None
        membership, a = coordination.membership, world["A"].address
        membership.suspicions.add(a, "silent", Until.HEARD)  # As the detector says it after a while of silence.
        no_state.end()
        assert world.run_until(lambda: not is_waiting(world, "E"), 1 * SECOND)
        membership.withdraw(a)
        world.advance(0.5)
        world.start("F")
        world.agree()
        assert len(one_list(world)) == 61


def test_no_gift_is_kept_for_a_joiner_that_was_gone_before_the_provider_came_to_it() -> None:
    """A gift begun after its joiner was gone was kept for ever."""
    with World(Ledger, ["A", "B"], seed=3) as world:
        b = world.apps["B"]
        b.reads.clear()
        send(world, "A", b"x")
        world.advance(0.2)
        world.start("X")
        until_view_of(world, 3, "A")
        world.crash("X")
        until_view_of(world, 2, "A", "B")
        world["B"].loop.call_soon(b.reads.set)
        world.settle()
        world.advance(20)
        group = world["B"].group
        assert group is not None
        assert group._state._giving._gifts == {}


def test_observer_alone_holds_the_merged_state() -> None:
    """All voters of its side counted as stateless, although an observer gives nothing: their state was lost."""
    with sides_of("ABC", "OD", "F", seed=4, observers="O") as world:
        b = world.apps["B"]
        meet(world, "ABCOD", "F")
        b.merges.clear()  # B merges anew when A is gone, and is not done before F comes.
        merge_for_one_alone(world, "O")
        world["B"].loop.call_soon(b.merges.set)
        world.heal()
        assert {payload for _, payload in one_list(world)} >= {*numbered("C-", 10), *numbered("F-", 10)}


def test_holder_dies_after_second_merge_view() -> None:
    """Those who lacked the first merged state stayed stateless without its only holder: their state was lost."""
    with sides_of("ABC", "DE", "F", seed=4) as world:
        meet(world, "ABCDE", "F")
        merge_for_one_alone(world, "D")
        world.crash("D")
        world.heal()
        assert {payload for _, payload in one_list(world)} >= {*numbered("C-", 10), *numbered("F-", 10)}


def test_a_late_word_about_the_first_merge_does_not_end_the_gift_of_the_second() -> None:
    """E said that another merge came first, and A, giving the state of that other one, took E for done."""
    with sides_of("ABC", "DE", "F", seed=4, app=LargeLedger) as world:
        meet(world, "ABCDE", "F")
        world.heal()
        held = world.hold("stateconfirmed", sender="E", to="A")
        until_view_of(world, 6, "A", "E")
        no_state = world.drop("state", sender="A", to="E")
        merge(world)
        assert world.run_until(lambda: world.apps["B"].loaded == 1)
        held.end()
        world.advance(0.2)
        no_state.end()
        one_list(world)
        assert world.apps["E"].loaded == 1


def test_what_came_to_a_joiner_alone_in_a_place_that_it_lost_stands_behind_the_merged_state() -> None:
    """Seed 323205: it was read as soon as a merge came before the state did, and was gone with the state from there."""
    with World(SlowLedger, ["A", "B"], seed=3) as world:
        send(world, "A", b"both")
        world.settle()
        world.start("X")
        x = world.apps["X"]
        x.loads.clear()
        assert world.run_until(lambda: x.begun == 1, 10 * SECOND)
        a, first = world["A"].group, world["X"].address
        assert a is not None
        world.spawn("A", a.send(b"alone", to=first))
        world.advance(0.5)
        world["X"].loop.call_soon(world["X"].driver.on_lost, "a gap")
        assert world.run_until(lambda: x.begun == 2, 10 * SECOND) and world["X"].address != first
        world.partition("AX", "B")
        until_view_of(world, 2, "A", "X")
        until_view_of(world, 1, "B")
        world.heal()
        until_view_of(world, 3, "A", "B", "X")
        world.advance(0.5)
        assert x.got == [] and x.loaded == 0
        world["X"].loop.call_soon(x.loads.set)
        assert world.run_until(lambda: x.loaded > 0, 10 * SECOND)
        world.advance(0.5)
        assert x.got == [("A", b"both"), ("A", b"alone")]


def test_who_was_told_that_it_will_have_no_state_is_given_none_by_the_next_view() -> None:
    """Seed 352595: `set_state` was called once more in a group that was leaving, for what its error said was gone."""
    founders = iter((SlowLedger(), SlowLedger()))
    with World(lambda: next(founders, None) or FullLedger(), ["A", "B"], seed=3) as world:
        send(world, "A", b"both")
        world.settle()
        no_state = world.drop("state", sender="B")
        world.start("X")
        x = world.apps["X"]
        x.loads.clear()
        assert world.run_until(lambda: x.begun == 1, 10 * SECOND)
        held = world.hold("newview", sender="A", to="X")
        world.crash("B")
        until_view_of(world, 2, "A")
        no_state.end()
        world["X"].loop.call_soon(x.loads.set)
        world.advance(0.01)
        held.end()
        with pytest.raises(Broke, match="the state of B#1 could not be loaded: set_state failed: OSError: no room"):
            world.advance(10)
        assert x.begun == 1
