"""A process that dies stays dead: the others find out, agree and go on, and never are too few of them left."""

from dataclasses import replace

import pytest

from ringcast.model import MS, SECOND, Kind
from ringcast.sim import Cluster, Fault, Options, Outcome, Summary, draw, run_world, shrink, tell
from ringcast.sim.fault_draws import DEATH, draw_deaths, presence, survivable
from ringcast.sim.options import narrowed

CALM = Options(1, members=4, safety_ns=4 * SECOND, bound_ns=15 * SECOND)


def death(name: str, at_ns: int = SECOND) -> Fault:
    return Fault(DEATH, at_ns, 4 * SECOND, (name,))


def deaths_in(faults: tuple[Fault, ...]) -> list[str]:
    return [fault.members[0] for fault in faults if fault.kind == DEATH]


def how_it_ended(cluster: Cluster, name: str) -> object:
    last = cluster.events(name)[-1]
    assert last.kind is Kind.CLOSED
    return (last.detail or {})["how"]


def test_nobody_starts_in_the_place_of_the_dead_and_the_others_go_on_in_one_view() -> None:
    outcome, cluster = run_world(replace(CALM, faults=(death("A"), death("C", 3900 * MS))))
    assert outcome.is_good, outcome.sentences
    assert [how_it_ended(cluster, name) for name in "ABCD"] == ["crashed", "ended", "crashed", "ended"]
    assert outcome.faults == {"death": 2} and outcome.living == 2
    assert [member.name for member in cluster["B"].node.view.members] == ["B", "D"]


def test_a_death_while_the_process_is_down_keeps_its_place_empty() -> None:
    faults = (Fault("crash", SECOND, 3 * SECOND, ("B",)), death("B", 2 * SECOND), death("B", 2500 * MS))
    outcome, cluster = run_world(replace(CALM, faults=faults))
    assert outcome.is_good, outcome.sentences
    assert how_it_ended(cluster, "B") == "crashed" and cluster.address("B").incarnation == 1
    assert outcome.faults == {"crashed": 1, "death": 1}


def test_one_that_dies_while_it_leaves_is_not_started_again() -> None:
    faults = (Fault("leave", SECOND, SECOND, ("B",)), death("B", SECOND + 1 * MS))
    outcome, cluster = run_world(replace(CALM, faults=faults))
    assert outcome.is_good, outcome.sentences
    assert how_it_ended(cluster, "B") == "crashed" and cluster.address("B").incarnation == 1


def test_another_starts_in_the_place_of_one_that_was_still_leaving_at_the_heal() -> None:
    """Seed 50158: two of four were left, too few for the quorum, and nobody was dead but one."""
    cut = Fault("no-control", 3500 * MS, 4 * SECOND, ("C",))
    outcome, cluster = run_world(replace(CALM, faults=(cut, Fault("leave", 3600 * MS, 3700 * MS, ("C",)))))
    assert outcome.is_good, outcome.sentences
    before = next(recording for recording in cluster.recordings() if str(recording.header.member) == "C#1")
    assert list(before.events)[-1].t_ns > CALM.safety_ns, "it was gone before the heal"
    assert cluster.address("C").incarnation == 2 and outcome.living == 4


def test_the_story_tells_of_a_death() -> None:
    cluster = Cluster(3, fixed=False)
    cluster.faults.begin(death("C"))
    lines = [line.split("s  ", 1)[1] for line in tell(cluster.recordings())]
    assert lines[-2:] == ["*        begins: death C", "C#1      ends (crashed)"]


def test_a_seed_never_kills_so_many_that_fewer_than_two_are_left() -> None:
    counts = set()
    for seed in range(200):
        options = draw(seed)
        dying = deaths_in(options.faults)
        assert len(set(dying)) == len(dying) <= max(0, options.members - 2)
        counts.add(len(dying))
    assert counts == {0, 1, 2}
    assert all(len(deaths_in(narrowed(draw(seed, (3, 3)), ("death", "loss")).faults)) <= 1 for seed in range(20))


def test_what_is_drawn_for_deaths_does_not_shift_anything_else() -> None:
    """A seed whose run is told somewhere stays that run, unless somebody dies in it."""
    with_deaths = next(draw(seed) for seed in range(50) if deaths_in(draw(seed).faults))
    assert deaths_in(with_deaths.faults) == deaths_in(with_deaths.faults[-len(deaths_in(with_deaths.faults)) :])
    assert draw_deaths(with_deaths.seed, ["A", "B"], SECOND) == ()


def test_only_as_many_deaths_are_kept_as_a_group_survives() -> None:
    faults = (death("A"), Fault("loss", 0, SECOND), death("B"), death("A", 2 * SECOND), death("C"))
    assert deaths_in(survivable(faults, 4)) == ["A", "B"]
    assert deaths_in(survivable(faults, 3)) == ["A"]
    assert [fault.kind for fault in survivable(faults, 2)] == ["loss"]


def test_a_run_made_small_keeps_two_members_alive() -> None:
    def fails(options: Options) -> Outcome:
        assert len(set(deaths_in(options.faults))) <= max(0, options.members - 2)
        outcome = Outcome(options.seed, options.members)
        outcome.sentences += ["liveness: never"] if deaths_in(options.faults) else []
        return outcome

    small = shrink(replace(draw(3, (6, 6)), faults=(death("A"), death("B"), death("C"))), fails)
    assert small.options.members == 3 and len(small.options.faults) == 1


@pytest.mark.parametrize(("at_s", "share"), [(0, 4 / 9), (2, 13 / 18), (4, 1.0)])
def test_the_dead_neither_send_nor_read(at_s: int, share: float) -> None:
    assert presence([death("A", at_s * SECOND)], 3, 4 * SECOND) == pytest.approx(share)
    assert presence([], 3, 4 * SECOND) == 1.0


def test_a_summary_counts_deaths_and_who_was_left() -> None:
    outcomes = [Outcome(1, 4, faults={"death": 2, "crashed": 1}, living=2), Outcome(2, 3, living=3)]
    result = Summary(outcomes).to_json()
    assert result["faults"]["death"] == 2 and result["faults"]["crash"] == 1
    assert result["per_run"]["living_at_the_end"] == {"min": 2, "median": 2.5, "max": 3}
