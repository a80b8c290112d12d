"""Joining with state: one event, cut exactly at the view, streamed in bounded chunks (seed 004, its open issue)."""

from __future__ import annotations

import pytest

from ringcast.core import Channel
from ringcast.core.control import Busy, NewView, RollCallId, Transfer
from ringcast.core.effects import SendReliable
from ringcast.core.multicast import PeerStreams
from ringcast.core.state.providers import PendingStates
from ringcast.model import MS, SECOND, Address, Entry, ViewId
from unit.core.membership.world import Proc, World


def numbered(name: str, count: int) -> list[bytes]:
    return [f"{name}{n}".encode() for n in range(count)]


def is_told_the_same(world: World, names: str, counts: dict[str, int]) -> bool:
    histories = [{sender: world[name].messages(sender) for sender in counts} for name in names]
    return all(history == histories[0] for history in histories) and all(
        histories[0][sender] == numbered(sender, count) for sender, count in counts.items()
    )


@pytest.mark.parametrize("seed", range(2))
def test_four_join_with_state_while_each_sends_t01(seed: int) -> None:
    """T01: 4 members join with state while each sends 1000; all hold the identical 4 x 1000."""
    world = World(seed, loss=0.02 * seed)
    for name in "ABCD":
        world.start(name, with_state=True)
        world.send(name, *numbered(name, 1_000))
        world.run_for(120 * MS)
    assert world.is_soon_one("ABCD")
    counts = dict.fromkeys("ABCD", 1_000)
    assert world.run_until(lambda: all(len(world[name].got) == 4_000 for name in "ABCD"), 60 * SECOND)
    assert is_told_the_same(world, "ABCD", counts)
    assert world.verdict() == ""


def test_the_first_member_has_nobody_to_get_a_state_from_t04() -> None:
    """T04: the state from oneself is there at once."""
    world = World()
    world.start("A", with_state=True)
    assert world.is_soon_one("A")
    assert world["A"].state_over == [("A", None)]


@pytest.mark.parametrize("after_ms", [1, 6, 20])
def test_a_provider_that_dies_half_way_is_replaced(after_ms: int) -> None:
    world = World(after_ms)
    world.group("ABC")
    world.send("A", *[b"A%d" % n + b"." * 500 for n in range(300)])
    assert world.run_until(lambda: all(len(world[n].messages("A")) == 300 for n in "ABC"))
    world.start("J", with_state=True)
    assert world.run_until(lambda: bool(world["C"].giving))
    world.run_for(after_ms * MS)
    world.crash("C")
    world.send("B", *numbered("B", 50))
    assert world.is_soon_one("ABJ")
    assert world.run_until(lambda: len(world["J"].messages("A")) == 300 and len(world["J"].messages("B")) == 50)
    assert world["J"].messages("A") == world["A"].messages("A")
    assert world.verdict() == ""


def test_a_failing_provider_is_an_error_on_both_sides_and_the_group_is_unharmed_t03() -> None:
    world = World()
    world.group("AB")
    world["B"].give_error = "cannot read the disk"
    world.start("J", with_state=True)
    assert world.is_soon_one("ABJ")
    assert world.run_until(lambda: bool(world["J"].state_over))
    assert world["J"].state_over == [("J", "cannot read the disk")]
    assert world["B"].state_over == [("J", "cannot read the disk")]
    world.run_for(100 * MS)
    assert all(not world[name].node.coordination.membership.states.transfers for name in "ABJ")  # type: ignore[union-attr]


def test_a_joiner_that_cannot_load_tells_its_provider_t03() -> None:
    """T03: the requester throws."""
    world = World()
    world.group("AB")
    world.send("A", *[b"x" * 900 for _ in range(200)])
    assert world.run_until(lambda: len(world["B"].got) == 200)
    world.start("J", with_state=True)
    assert world.run_until(lambda: bool(world["B"].giving) and world["J"].node.has_group)
    world["J"].settle(world["J"].node.on_state_loaded(world.now, "no room"))
    assert world.run_until(lambda: ("J", "no room") in world["B"].state_over)
    assert world.verdict() == ""


def test_an_observer_provides_no_state() -> None:
    world = World()
    world.group("A")
    world.start("O", observer=True)
    assert world.is_soon_one("AO")
    world.send("A", b"1", b"2")
    world.run_for(50 * MS)
    world.start("J", with_state=True)
    assert world.run_until(lambda: world["J"].got == [("A", b"1"), ("A", b"2")])
    assert world["O"].state_over == [] and world["A"].state_over == [("J", None)]


def test_a_long_transfer_blocks_no_view_and_lets_no_merge_begin() -> None:
    world = World(3)
    world.group("AB")
    world.send("A", *[b"x" * 1_500 for _ in range(400)])
    assert world.run_until(lambda: len(world["B"].got) == 400)
    world.start("J", with_state=True)
    assert world.run_until(lambda: bool(world["B"].giving))
    world.start("K")
    assert world.is_soon_one("ABJK")
    handler = world["A"].node.coordination.membership.as_coordinator.handler  # type: ignore[union-attr]
    assert world.run_until(lambda: handler.phase == "transferring state", 100 * MS)
    assert len(world["J"].got) < 400
    assert world.run_until(lambda: len(world["J"].got) == 400)
    world.run_for(50 * MS)
    assert handler.phase == "idle"
    assert world.verdict() == ""


def test_a_joiner_left_alone_half_way_is_not_told_that_it_has_the_state() -> None:
    """Simulated seed 0 (state, first draft): alone when its provider died, it took half a state for a whole one."""
    world = World(2)
    world.group("A")
    world.send("A", *[b"x" * 1_500 for _ in range(400)])
    assert world.run_until(lambda: len(world["A"].got) == 400)
    world.start("J", with_state=True)
    assert world.run_until(lambda: bool(world["J"].loading))
    world.crash("A")
    assert world.is_soon_one("J")
    assert world["J"].state_over == [("J", "nobody in the view has the state")]


def lacking(world: World, name: str) -> list[str]:
    """Who has no state yet, as this member believes."""
    coordination = world[name].node.coordination
    assert coordination is not None
    return [joiner.name for joiner in coordination.membership.states.transfers]


def test_who_hears_that_a_joiner_has_its_state_before_it_has_the_view_believes_it() -> None:
    """Simulated seed 19 (state, first draft): F got the view late, led the next, and took all others for joiners."""
    provider, late, joiner = (Address(name, 1, f"mem:{name}") for name in "PLJ")
    base, view = RollCallId(ViewId(1, provider), 0, 1), ViewId(2, provider)
    members = (provider, late, joiner)
    entries = (Entry(0, 0, 0),) * 3
    transfers = (Transfer(joiner, provider, view),)
    states = PendingStates()
    states.confirm(joiner)
    begun = states.on_view(NewView(base, view, members, (), (), 64, 64_000, entries, (), transfers=transfers))
    assert (begun, states.transfers) == ([], {})


def test_a_member_that_is_named_a_joiner_again_says_again_that_it_has_the_state() -> None:
    """Simulated seed 19 (state, first draft): a mistaken view made all believe that nobody had the state, for good."""
    world = World(1)
    world.group("AB")
    world.start("J", with_state=True)
    assert world.run_until(lambda: ("J", None) in world["J"].state_over)
    world.run_for(5 * MS)
    coordination = world["A"].node.coordination
    assert coordination is not None and world["J"].view is not None
    stale = Transfer(world["J"].address, world["B"].address, world["J"].view.id)
    coordination.membership.states.transfers[world["J"].address] = stale
    world.start("K", with_state=True)
    assert world.is_soon_one("ABJK")
    world.run_for(50 * MS)
    assert [lacking(world, name) for name in "ABJK"] == [[], [], [], []]


# ---- provider or joiner is gone in the middle (Y18)


class Traffic:
    """Packets of the STATE channel, by sender and receiver, from now on."""

    def __init__(self, world: World) -> None:
        self.seen: list[tuple[str, str]] = []
        world.killer = self._note
        self._world = world

    def _note(self, proc: Proc, packet: object) -> None:
        if getattr(packet, "channel", None) is Channel.STATE:
            self.seen.append((proc.name, type(packet).__name__))


def state_streams(world: World, name: str) -> PeerStreams:
    coordination = world[name].node.coordination
    assert coordination is not None
    return coordination.state.streams


def test_after_the_view_without_a_joiner_its_provider_keeps_and_sends_nothing_of_the_state() -> None:
    """Y18: 54,720 bytes and endless packets stayed at the provider of a joiner that had crashed."""
    world = World(4)
    world.group("AB")
    world.send("A", *[b"x" * 1_500 for _ in range(400)])
    assert world.run_until(lambda: len(world["B"].got) == 400)
    world.start("J", with_state=True)
    assert world.run_until(lambda: bool(world["J"].loading))
    world.crash("J")
    assert world.is_soon_one("AB")
    world["B"].giving.clear()
    traffic = Traffic(world)
    world.run_for(10 * SECOND)
    assert (dict(state_streams(world, "B").outgoing), traffic.seen) == ({}, [])
    assert world.verdict() == ""


@pytest.mark.parametrize("seed", range(4))
def test_after_the_view_without_its_provider_a_joiner_asks_it_for_nothing(seed: int) -> None:
    """Y18: a joiner asked its dead provider for the missing chunks for ever."""
    world = World(seed, loss=0.2)
    world.group("AB")
    world.send("A", *[b"x" * 1_500 for _ in range(100)])
    assert world.run_until(lambda: len(world["B"].got) == 100)
    world.start("J", with_state=True)
    assert world.run_until(lambda: any(not s.is_idle for s in state_streams(world, "J").incoming.values()))
    dead = world["B"].address
    world.crash("B")
    assert world.is_soon_one("AJ")
    assert world.run_until(lambda: len(world["J"].got) == 100)
    world.loss = 0.0
    world.run_for(2 * SECOND)
    traffic = Traffic(world)
    world.run_for(10 * SECOND)
    assert traffic.seen == []
    assert state_streams(world, "J").incoming[dead].is_idle
    assert world.verdict() == ""


def test_a_control_message_to_a_process_that_was_never_a_member_is_given_up() -> None:
    """One rule for every channel: what moves nothing for the limit, to somebody outside the view."""
    world = World()
    world.group("A")
    coordination = world["A"].node.coordination
    assert coordination is not None
    stranger = Address("S", 1, "mem:S")
    world["A"].settle(coordination.carry_out(world.now, [SendReliable(stranger, Busy())]))
    assert stranger in coordination.control.streams.outgoing
    world.run_for(2 * world["A"].node.config.resumer_ns)
    assert stranger not in coordination.control.streams.outgoing
    assert world["A"].drops["gave up a stream to a process outside the view"] == 1


# ---- a merge while a joiner loads its state


def split_with_a_slow_joiner(world: World) -> None:
    """A, B | C, D, and J, which joins C and D with state and reads none of it, so that its transfer stalls."""
    world.group("ABCD")
    world.blocked = lambda sender, receiver: (sender in "AB") != (receiver in "AB")
    assert world.run_until(lambda: world.is_one("AB") and world.is_one("CD"))
    world.send("C", *[b"x" * 1_500 for _ in range(200)])
    assert world.run_until(lambda: len(world["D"].messages("C")) == 200)
    joiner = world.start("J", seeds=["C"], with_state=True)
    joiner.is_slow = True
    assert world.is_soon_one("CDJ")
    world.run_for(2 * world["C"].node.config.state_patience_ns)
    world.blocked = lambda sender, receiver: False
    assert world.is_soon_one("ABCDJ")


def test_a_coordinator_from_the_other_side_of_a_merge_knows_who_still_loads_its_state() -> None:
    """It told a waiting joiner that nobody has the state: it had never heard of the transfer."""
    world = World(5)
    split_with_a_slow_joiner(world)
    assert world["J"].state_over == []
    world.start("E", seeds=["A"])
    assert world.is_soon_one("ABCDEJ")
    assert world["J"].state_over == []
    world["J"].is_slow = False
    world["J"].settle([])
    assert world.run_until(lambda: world["J"].messages("C") == [b"x" * 1_500] * 200)
    assert world["J"].state_over == [("J", None)]
    assert world.verdict() == ""


def test_an_observer_cut_off_alone_is_told_that_a_merge_came_before_its_state() -> None:
    """Simulated seed 240 (any): it was told that nobody in the view has the state, where all others had it.

    An observer makes no view of its own while it is cut off.
    """
    world = World(7)
    world.group("AB")
    world.send("A", *[b"x" * 1_500 for _ in range(400)])
    assert world.run_until(lambda: len(world["B"].messages("A")) == 400)
    joiner = world.start("J", with_state=True, observer=True)
    assert world.run_until(lambda: bool(joiner.loading))
    joiner.is_slow = True
    world.run_for(2 * joiner.node.config.state_patience_ns)
    world.blocked = lambda sender, receiver: "J" in (sender, receiver)
    assert world.run_until(lambda: world.is_one("AB"))
    world.blocked = lambda sender, receiver: False
    assert world.is_soon_one("ABJ")
    assert joiner.state_over == [("J", "a merge came first, and nobody of this side of it has the state")]


def test_a_provider_that_dies_after_a_merge_is_replaced_by_whoever_leads() -> None:
    world = World(6)
    split_with_a_slow_joiner(world)
    world.crash("D")
    assert world.is_soon_one("ABCJ")
    assert world["J"].state_over == []
    world["J"].is_slow = False
    world["J"].settle([])
    assert world.run_until(lambda: ("J", None) in world["J"].state_over)
    assert world.verdict() == ""
