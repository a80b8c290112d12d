"""Programs with a state: what they hold, how a join with state can end, and what a merge makes of their states."""

import asyncio
from collections.abc import AsyncIterator, Mapping

from ringcast.model import MS, SECOND, Address, Config, Kind, Rejoin, Undelivered, View, ViewChange, ViewId, profile
from ringcast.runtime.rejoin import OnExclusion
from ringcast.sim import Application, Cluster, Fault
from ringcast.sim.stateful import NO_STATE, UNREADABLE, Keeper, StatefulWorkload, StateLoad, draw_state
from ringcast.sim.tally import Tally
from ringcast.sim.workload import Load, OrderedLoad, Workload


class World:
    """Members with state that found their group by themselves, at rest in one view; nobody sends unasked."""

    def __init__(
        self,
        names: str,
        load: StateLoad | None = None,
        configs: Mapping[str, Config] | None = None,
        on_exclusion: OnExclusion = "merge",
        **config: int,
    ) -> None:
        self.workload = StatefulWorkload(Workload(Load(), OrderedLoad(), until_ns=0), load or StateLoad())
        self.cluster = Cluster(
            names,
            seed=1,
            config=profile("test", **config),
            configs=configs,
            fixed=False,
            make_app=self.workload.make_app,
            on_exclusion=on_exclusion,
        )
        self.rest()

    def rest(self) -> None:
        assert self.cluster.run_until(lambda: self.cluster.share_a_view() and self.cluster.is_settled())

    def states(self) -> dict[str, str]:
        found = {process.name: process.app for process in self.cluster.alive()}
        return {name: app.tally.digest for name, app in found.items() if isinstance(app, Keeper) and app.tally}

    def sentences(self) -> list[str]:
        return list(self.workload.succession.strange())

    def counts(self) -> dict[str, int]:
        return dict(self.workload.succession.counts)


def test_who_joins_again_has_what_the_others_read_before_and_reads_on() -> None:
    world = World("ABC", StateLoad(padding=20_000), stream_capacity=1)
    cluster = world.cluster
    cluster.send("A", b"1", b"2")
    cluster.run_for(50 * MS)
    cluster.crash("C")
    cluster.start("C")
    for number in range(20):
        cluster.send("B", b"%d" % number)
        cluster.run_for(10 * MS)
    world.rest()
    assert len(set(world.states().values())) == 1 and len(world.states()) == 3
    assert b"1" not in cluster.read("C", "A"), "it was in the state"
    assert world.sentences() == []


def test_who_cannot_have_the_state_leaves_and_another_asks_again() -> None:
    assert World("AB").counts() == {"founded": 1, "loaded": 1}
    failing = World("AB", StateLoad(padding=5_000, failing_share=1.0, until_ns=2 * SECOND))
    assert failing.cluster.refused and UNREADABLE in str(failing.cluster.refused[0][1])
    assert failing.cluster.clock.now_ns >= 2 * SECOND and len(failing.states()) == 2
    assert failing.sentences() == []


def test_a_joiner_whose_provider_does_not_read_gives_up_and_another_asks_again() -> None:
    world = World("AB")
    world.cluster.faults.begin(Fault("stop-reading", 0, 0, ("A",)))
    world.cluster.crash("B")
    world.cluster.start("B")
    world.cluster.run_for(5 * SECOND)
    assert world.cluster.refused
    world.cluster.heal()
    world.rest()
    assert len(world.states()) == 2


def test_two_sides_hold_one_state_after_their_merge_if_they_make_one() -> None:
    world = World("ABCD", StateLoad(merges=True))
    world.cluster.faults.begin(Fault("split", 0, 0, ("A", "B")))
    assert world.cluster.run_until(lambda: {len(p.node.view.members) for p in world.cluster.alive()} == {2})
    world.cluster.send("A", b"on one side")
    world.cluster.send("C", b"on the other")
    world.cluster.run_for(100 * MS)
    assert len(set(world.states().values())) == 2
    world.cluster.heal()
    world.rest()
    assert len(set(world.states().values())) == 1
    assert (world.counts()["merges"], world.counts()["merged"]) == (1, 4)
    assert world.sentences() == []


def test_sides_that_part_again_before_the_merged_state_may_load_states_of_their_own_in_the_next_merge() -> None:
    """Seed 270398: loading took so long that both were together again when they had theirs."""
    world, split = World("AB", StateLoad(merges=True, loading_ns=SECOND)), Fault("split", 0, 0, ("A",))
    cluster = world.cluster
    for _ in range(2):
        cluster.faults.begin(split)
        assert cluster.run_until(lambda: {len(p.node.view.members) for p in cluster.alive()} == {1})
        cluster.send("A", b"on one side")
        cluster.send("B", b"on the other")
        cluster.run_for(100 * MS)
        cluster.faults.end(split)
        assert cluster.run_until(cluster.share_a_view)
    world.rest()
    assert (world.counts()["merges"], world.counts()["merged"]) == (3, 4)
    assert world.sentences() == []


def test_a_seed_draws_the_same_states_every_time() -> None:
    drawn = [draw_state(seed, SECOND) for seed in range(40)]
    assert drawn == [draw_state(seed, SECOND) for seed in range(40)]
    assert len({load.padding for load in drawn}) == 5
    assert {load.failing_share for load in drawn} == {0.0, 0.2}
    assert {load.merges for load in drawn} == {False, True}


class Slow(Application):
    """Gives its state, loads one for so many seconds, and cannot merge any."""

    seconds = 0

    def get_state(self) -> bytes:
        return b"state"

    async def set_state(self, chunks: AsyncIterator[bytes]) -> None:
        await asyncio.sleep(self.seconds)

    async def merge_state(self, sides: Mapping[tuple[Address, ...], bytes]) -> bytes:
        await asyncio.sleep(0.2)
        raise OSError("cannot merge")


def test_a_joiner_whose_state_was_overtaken_by_a_merge_that_fails_has_none_and_is_told() -> None:
    """Else its join would have been said to be complete, and it would go on without any state (G18)."""

    def make_app(cluster: Cluster, name: str) -> Slow:
        app = Slow(cluster.random(name, "reading"))
        app.seconds = 1000 if name == "J" else 0
        return app

    cluster = Cluster("AB", fixed=False, make_app=make_app)
    assert cluster.run_until(cluster.share_a_view)
    split = Fault("split", 0, 9 * SECOND, ("A",))
    cluster.faults.begin(split)
    cluster.run_for(2 * SECOND)
    cluster.start("J")
    cluster.run_for(SECOND)
    assert len(cluster["B"].node.view.members) == 2, "it is in, and loads"
    cluster.faults.end(split)
    assert cluster.run_until(lambda: cluster.share_a_view() and len(cluster["J"].node.view.members) == 3, 20 * SECOND)
    cluster.send("B", b"behind the merge")
    assert cluster.run_until(lambda: bool(cluster.refused), 20 * SECOND, 10 * MS)
    assert not cluster.read("J", "B"), "it has no state to which a message could be added"
    process, error = cluster.refused[0]
    assert process.name == "J" and "a merge came first, and its states stay apart: merge_state failed" in str(error)


def test_who_comes_back_before_it_had_a_state_has_not_founded_a_group() -> None:
    """Simulated seed 539: reading `Rejoin` without a state was taken for the beginning of a group of its own."""
    world = World("AB")
    app = world.cluster.application("B")
    assert isinstance(app, Keeper)
    app.tally = None
    founders = world.counts()["founded"]
    app.take(Rejoin(Address("B", 1, "sim:B"), "the others went on without it"))
    app.take(Undelivered(Address("A", 1, "sim:A"), 1, 1))
    assert app.tally is None and world.counts()["founded"] == founders


def test_who_comes_back_and_gets_no_state_stands_in_no_view_with_its_old_one() -> None:
    """Simulated seed 20435: it read the views behind `Rejoin` as if it had read their messages, too."""
    world = World("ABCD", on_exclusion="rejoin")
    cluster = world.cluster
    for name in "ACD":
        cluster.faults.begin(Fault("stop-reading", 0, 0, (name,)))
    mute = Fault("mute", 0, 0, ("B",))
    cluster.faults.begin(mute)
    assert cluster.run_until(lambda: len(cluster["A"].node.view.members) == 3)
    cluster.faults.end(mute)
    assert cluster.run_until(lambda: cluster.share_a_view() and len(cluster["A"].node.view.members) == 4)
    assert cluster.address("B").incarnation == 2, "it came back by itself, and waits for a state"
    cluster.send("B", b"it will not read this itself")
    cluster.run_for(50 * MS)
    cluster.crash("C")
    assert cluster.run_until(lambda: bool(cluster.refused))
    cluster.heal()
    world.rest()
    assert world.sentences() == []


def test_a_view_counts_for_the_incarnation_that_was_in_it_also_if_it_is_read_late() -> None:
    world = World("AB")
    was, app = world.cluster.address("B"), world.cluster.application("B")
    app.take(ViewChange(View(ViewId(9, was), (was,))))
    app.take(Rejoin(was, "the others went on without it"))
    first, now = world.cluster.address("A"), was._replace(incarnation=2)
    app.take(ViewChange(View(ViewId(10, first), (first, now))))
    stands = world.workload.succession.stands
    assert [stand.view.id.number for stand in stands[was]][-1] == 9
    assert [(stand.view.id.number, stand.digest) for stand in stands[now]] == [(10, NO_STATE)]


def test_who_comes_back_alone_begins_with_a_new_state() -> None:
    world = World("AB")
    world.cluster.send("A", b"of the old place")
    world.rest()
    was, app = world.cluster.address("B"), world.cluster.application("B")
    now = was._replace(incarnation=2)
    app.take(Rejoin(was, "the others went on without it"))
    app.take(ViewChange(View(ViewId(9, now), (now,))))
    assert isinstance(app, Keeper) and app.tally == Tally()
    assert world.counts()["founded"] == 2 and world.sentences() == []


def test_a_joiner_with_a_narrow_window_for_messages_is_not_overrun_with_the_state() -> None:
    """Simulated seed 656: each part of the state came by a repair, one in an interval, for ten seconds."""
    world = World("AB", StateLoad(padding=60_000), {"B": profile("test", stream_capacity=1)}, frame_bytes=700)
    events = [*world.cluster.events("A"), *world.cluster.events("B")]
    assert len(world.states()) == 2
    assert [event for event in events if event.kind in (Kind.REPAIR, Kind.REQUEST)] == []
