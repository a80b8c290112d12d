"""What a seed may draw besides ordinary faults: policies, long faults, many members, crashes at a step."""

from dataclasses import replace

from ringcast.model import MS, SECOND, Kind
from ringcast.sim import Fault, Options, Outcome, Policy, Summary, draw, run_world, shrink
from ringcast.sim.drawn import POLICIES, drawn_by
from ringcast.sim.fault_draws import DEATH, LONG_NS, survivable
from ringcast.sim.faults import KINDS, LASTING_KINDS
from ringcast.sim.judging import most_views
from ringcast.sim.options import ANY
from ringcast.sim.policies import draw_policy
from ringcast.sim.steps import STEP_CRASHES
from ringcast.sim.workload import Load

MANY = [draw(seed, workload=ANY) for seed in range(1000)]


def longest_ns(options: Options) -> int:
    return max(fault.until_ns - fault.at_ns for fault in options.faults if fault.kind in LASTING_KINDS)


def test_a_thousand_seeds_draw_everything_that_can_be_drawn() -> None:
    outcomes = [
        Outcome(o.seed, o.members, workload=o.workload, drawn=drawn_by(o), faults={fault.kind: 1 for fault in o.faults})
        for o in MANY
    ]
    drawn = Summary(outcomes).to_json()["drawn"]
    assert min(drawn["policies"].values()) > 10 and list(drawn["policies"]) == list(POLICIES)
    assert min(drawn["workloads"].values()) > 50
    assert min(fault["count"] for fault in drawn["faults"].values()) > 0 and list(drawn["faults"]) == list(KINDS)
    assert drawn["longest_fault_seconds"] == 60
    assert {"15", "8", "2"} <= set(drawn["members"]) and max(map(int, drawn["members"])) > 15
    assert drawn["large_runs"] == sum(options.members > 7 or longest_ns(options) > LONG_NS for options in MANY)


def test_at_most_one_seed_in_twenty_is_large() -> None:
    large = [options.seed for options in MANY if options.members > 7 or longest_ns(options) > LONG_NS]
    assert len(large) * 20 <= len(MANY)
    assert all(seed % 20 == 19 for seed in large)
    asked = [draw(seed, (2, 5)) for seed in range(200)]
    assert max(options.members for options in asked) <= 5, "members that were asked for are what there is"


def test_a_large_state_does_not_go_through_a_narrow_window_on_a_slow_link() -> None:
    """Seed 350419 (any): a join, two sides and a merged state of 400 kB, 1,400 bytes for each way there and back."""
    options = draw(350_419, workload="any")
    assert options.state is not None and options.state.padding <= 60_000
    wide = replace(options, config=replace(options.config, window_bytes=64_000))
    assert wide.state is not None and wide.state.padding == 400_000
    near = replace(options, link=replace(options.link, delay_ns=MS))
    assert near.state is not None and near.state.padding == 400_000


def test_a_policy_leaves_those_who_can_go_on() -> None:
    for seed in range(300):
        names = list("ABCDEFG"[: 2 + seed % 6])
        policy = draw_policy(seed, names)
        assert len(policy.voters(names)) >= 2
        assert policy.quorum in (0, len(policy.voters(names)) // 2 + 1)
        assert (policy.partition == "primary") == (policy.has_marks or policy.quorum > 0)
        fewer = policy.of(2)
        assert (fewer.observers, fewer.quorum in (0, 2)) == (0, True)


def test_the_dead_leave_a_voter_and_enough_for_a_quorum() -> None:
    deaths = tuple(Fault(DEATH, SECOND, 4 * SECOND, (name,)) for name in "ABCDE")
    assert [fault.members[0] for fault in survivable(deaths, 5)] == ["A", "B", "C"]
    assert [fault.members[0] for fault in survivable(deaths, 5, Policy(observers=3))] == ["A", "C", "D"]
    primary = Policy(partition="primary", quorum=3)
    assert [fault.members[0] for fault in survivable(deaths, 5, primary)] == ["A", "B"]


def test_a_run_is_made_small_without_what_it_drew_besides_faults() -> None:
    policy = Policy(observers=1, partition="primary", quorum=2, own_configs=True, expects=True)
    options = replace(draw(3, (4, 4)), policy=policy, faults=(Fault("loss", 0, SECOND, ("B",)),))

    def fails_with_own_configs(tried: Options) -> Outcome:
        sentences = ["G1: x"] if tried.policy.own_configs else []
        return Outcome(tried.seed, tried.members, sentences=sentences)

    assert shrink(options, fails_with_own_configs).options.policy == Policy(own_configs=True)


def test_members_have_configs_of_their_own_and_the_group_agrees_on_the_smallest_window() -> None:
    options = Options(3, members=3, safety_ns=2 * SECOND, policy=Policy(own_configs=True), bound_ns=10 * SECOND)
    outcome, cluster = run_world(options)
    assert outcome.is_good, outcome.sentences
    capacities = {name: cluster.config_of(name).capacity for name in cluster.names}
    assert len(set(capacities.values())) > 1
    assert cluster["A"].node.view.capacity == min(capacities.values())


def test_a_primary_group_with_an_observer_goes_on_without_the_dead() -> None:
    faults = (Fault("isolate", SECOND, 3 * SECOND, ("B",)), Fault(DEATH, 3500 * 10**6, 4 * SECOND, ("C",)))
    policy = Policy(observers=1, partition="primary", quorum=2)
    options = Options(5, members=4, safety_ns=4 * SECOND, faults=faults, policy=policy, bound_ns=15 * SECOND)
    outcome, cluster = run_world(options)
    assert outcome.is_good, outcome.sentences
    assert [member.name for member in cluster["A"].node.view.observers] == ["D"]
    assert cluster["A"].node.view.is_primary and outcome.examined["G17"] > 0


LIGHT = Options(1, members=4, safety_ns=6 * SECOND, bound_ns=15 * SECOND, load=Load(per_second=4.0))


def test_a_process_crashes_at_the_step_that_was_named_and_starts_again() -> None:
    split = Fault("split", SECOND, 3 * SECOND, ("A", "B"))
    for kind, amount in (("crash@merge:accept", 0.0), ("crash@roll-call:promise", 1.0)):
        outcome, cluster = run_world(replace(LIGHT, faults=(split, Fault(kind, 500 * 10**6, 5 * SECOND, (), amount))))
        assert outcome.is_good, outcome.sentences
        assert outcome.faults == {kind: 1, "split": 1}
        crashed = [recorder for recorder in cluster.recorders if (recorder.events[-1].detail or {})["how"] == "crashed"]
        (last,) = [recorder.events[-2] for recorder in crashed]
        steps = [event for event in crashed[0].events if f"{event.kind.name.lower().replace('_', '-')}" in kind]
        assert steps[-1].detail is not None and steps[-1].detail["step"] == kind.partition(":")[2]
        assert amount or last == steps[-1], "nothing of it happens any more"


def test_every_step_that_can_be_named_is_recorded_by_somebody() -> None:
    named = {kind.partition("@")[2].partition(":")[0] for kind in STEP_CRASHES}
    assert {kind.upper().replace("-", "_") for kind in named} <= {kind.name for kind in Kind}


def test_so_many_views_as_there_are_causes_and_not_more() -> None:
    short, long = Fault("loss", 0, SECOND), Fault("one-way", 0, 60 * SECOND, ("A", "B"))
    assert most_views([short], 3, 3, 4 * SECOND) == 14
    assert most_views([long], 3, 3, 4 * SECOND) == 14 + 60
    assert most_views([], 3, 9, 4 * SECOND) == 18
