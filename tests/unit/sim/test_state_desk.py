"""Simulated processes that join with state: what they have, in which order they read, and how a join can end."""

from ringcast.model import MS, SECOND, profile
from ringcast.sim import Cluster, Fault
from ringcast.sim.state_giving import UNREADABLE
from ringcast.sim.state_load import StateLoad, draw_state


def group(names: str, load: StateLoad | None = None, **config: int) -> Cluster:
    """Members with state that found their group by themselves, at rest in one view."""
    state = load or StateLoad()
    cluster = Cluster(names, seed=1, config=profile("test", **config), fixed=False, state=state)
    assert cluster.run_until(lambda: cluster.share_a_view() and cluster.is_settled())
    return cluster


def states(cluster: Cluster) -> dict[str, str]:
    desks = {member.name: member.desk for member in cluster.alive()}
    return {name: desk.tally.digest for name, desk in desks.items() if desk is not None and desk.tally is not None}


def sentences(cluster: Cluster) -> list[str]:
    assert cluster.keeping is not None
    return list(cluster.keeping.strange(0))


def counts(cluster: Cluster) -> dict[str, int]:
    assert cluster.keeping is not None
    return dict(cluster.keeping.succession.counts)


def test_who_joins_again_has_what_the_others_read_before_and_reads_on() -> None:
    cluster = group("ABC", StateLoad(padding=20_000), stream_capacity=1)
    cluster.send("A", b"1", b"2")
    cluster.run_for(50 * MS)
    cluster.crash("C")
    cluster.start("C")
    for number in range(20):
        cluster.send("B", b"%d" % number)
        cluster.run_for(10 * MS)
    assert cluster.run_until(lambda: cluster.share_a_view() and cluster.is_settled())
    assert len(set(states(cluster).values())) == 1 and len(states(cluster)) == 3
    assert b"1" not in cluster.read("C", "A"), "it was in the state"
    assert sentences(cluster) == []


def test_a_provider_that_dies_half_way_is_replaced_and_its_half_is_void() -> None:
    cluster = group("ABC", StateLoad(padding=60_000), stream_capacity=1, frame_bytes=700)
    cluster.crash("A")
    joiner = cluster.start("A")
    desk = joiner.desk
    assert desk is not None
    assert cluster.run_until(lambda: len(desk.loading.parts) > 5)
    cut = desk.loading.cut
    assert cut is not None
    cluster.crash(cut.provider.name)
    cluster.send("A", b"while it waits")
    assert cluster.run_until(lambda: cluster.share_a_view() and cluster.is_settled())
    assert desk.loading.replaced == 1
    assert len(set(states(cluster).values())) == 1
    assert sentences(cluster) == []


def test_who_cannot_have_the_state_leaves_and_another_asks_again() -> None:
    cluster = group("AB")
    assert cluster.keeping is not None
    failing = group("AB", StateLoad(padding=5_000, failing_share=1.0, until_ns=2 * SECOND))
    assert counts(cluster) == {"founded": 1, "loaded": 1, "replaced": 0}
    assert counts(failing)["refused"] >= 1, UNREADABLE
    assert failing.clock.now_ns >= 2 * SECOND and len(states(failing)) == 2
    assert sentences(failing) == []


def test_a_joiner_whose_provider_does_not_read_gives_up_after_a_while_and_that_is_told() -> None:
    cluster = group("AB")
    cluster.faults.begin(Fault("stop-reading", 0, 0, ("A",)))
    cluster.crash("B")
    cluster.start("B")
    cluster.run_for(5 * SECOND)
    assert counts(cluster)["refused"] >= 1
    assert any("gave its state up" in sentence for sentence in sentences(cluster))
    cluster.heal()
    assert cluster.run_until(lambda: cluster.share_a_view() and cluster.is_settled())
    assert len(states(cluster)) == 2


def test_a_seed_draws_the_same_states_every_time() -> None:
    drawn = [draw_state(seed, SECOND) for seed in range(40)]
    assert drawn == [draw_state(seed, SECOND) for seed in range(40)]
    assert len({load.padding for load in drawn}) == 4
    assert {load.failing_share for load in drawn} == {0.0, 0.2}
