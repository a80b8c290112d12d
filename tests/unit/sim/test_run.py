"""One seed: what is drawn, what is judged, what is told, and how a failure is made small."""

from dataclasses import replace

import pytest

from ringcast.model import MS, SECOND, Event, Kind, profile
from ringcast.sim import Cluster, Fault, Options, Outcome, Summary, draw, run_world, shrink, simulate, tell
from ringcast.sim.faults import LIFE_FAULTS
from ringcast.sim.judging import storms, strange_contents, where_refused
from ringcast.sim.workload import Load
from ringcast.trace.story import Story

SHORT = Options(1, members=2, fixed=True, safety_ns=SECOND, bound_ns=2 * SECOND)


def test_a_seed_draws_the_same_options_every_time_and_enough_of_everything() -> None:
    for seed in range(50):
        options = draw(seed)
        assert options == draw(seed)
        assert 2 <= options.members <= (40 if seed % 20 == 19 else 7)  # a few are large
        assert len(options.faults) >= 5
        assert options.safety_ns >= 10 * SECOND
        assert all(fault.until_ns <= options.safety_ns for fault in options.faults)


def test_a_run_with_a_fixed_view_has_no_faults_that_end_processes() -> None:
    kinds = {fault.kind for seed in range(100) for fault in draw(seed, fixed=True).faults}
    assert not kinds & set(LIFE_FAULTS)
    assert set(LIFE_FAULTS) <= {fault.kind for seed in range(100) for fault in draw(seed).faults}


def test_a_good_run_says_how_much_was_examined() -> None:
    outcome = simulate(replace(SHORT, faults=(Fault("loss", 100 * MS, 500 * MS, (), 0.3),)))
    assert outcome.is_good, outcome.sentences
    assert outcome.faults == {"loss": 1}
    assert outcome.is_settled
    assert min(outcome.examined[name] for name in ("G1", "G2", "G3", "G14")) > 0


def test_where_the_faults_let_little_through_there_is_more_to_judge_after_the_heal() -> None:
    calm = replace(draw(1), faults=(Fault("isolate", 1 * MS, 10 * SECOND, ("A",)),))
    outcome = simulate(replace(calm, members=2, config=profile("test"), load=Load(per_second=5.0, private_share=0.0)))
    assert outcome.is_good, outcome.sentences
    assert outcome.settled_ns >= 8 * SECOND, "the load went on for longer"
    assert outcome.deliveries > 2 * 5 * 10 + 2 * 2 * 10 * 6, "and was heavier"


def test_a_reader_that_read_something_else_is_told() -> None:
    cluster = Cluster(2, seed=1)
    cluster.send("A", b"one", b"two")
    cluster.run_for(SECOND)
    assert list(strange_contents(cluster, is_complete=True)) == []
    read = cluster.read("B", "A")
    for wrong in ([b"two", b"one"], [b"one", b"one"], [b"one"], [b"two"], [b"one", b"twx"]):
        read[:] = wrong
        assert len(list(strange_contents(cluster, is_complete=True))) == 1, wrong
    read[:] = [b"two"]
    assert list(strange_contents(cluster, is_complete=False)) == [], "who joined late begins later"


def test_three_repairs_of_one_message_in_an_interval_are_a_storm() -> None:
    cluster = Cluster(2)
    for t_ns in (1 * MS, 2 * MS):
        cluster.recorders[1].append(Event(Kind.REPAIR, t_ns, None, cluster.address("B"), 0, 5, 2))
    assert list(storms(cluster.recordings())) == []
    cluster.recorders[1].append(Event(Kind.REPAIR, 3 * MS, None, cluster.address("B"), 0, 6, 1))
    assert list(storms(cluster.recordings())) == ["A#1 sent 6 to B#1 three times within 10 ms"]


@pytest.mark.parametrize(("fault", "is_storm"), [((1 * MS, 10 * MS, ["A"]), False), ((1 * MS, 2 * MS, ["A"]), True),
    ((1 * MS, 10 * MS, ["B"]), True), ((1 * MS, 10 * MS, []), False)])  # fmt: skip
def test_an_interval_of_a_fast_clock_is_shorter(fault: tuple[int, int, list[str]], is_storm: bool) -> None:
    """Simulated seed 582: a clock ran twice as fast as the others, and so did its interval of 10 ms."""
    cluster = Cluster(2)
    begin, end, members = fault
    detail = {"what": "clock", "members": members, "amount": 1_000_000.0}
    cluster.recorders[0].append(Event(Kind.FAULT, begin, detail=detail))
    cluster.recorders[0].append(Event(Kind.HEAL, end, detail=detail))
    for t_ns in (1 * MS, 4 * MS, 7 * MS):
        cluster.recorders[1].append(Event(Kind.REPAIR, t_ns, None, cluster.address("B"), 0, 6, 1))
    assert bool(list(storms(cluster.recordings()))) == is_storm


def test_a_state_is_refused_where_its_process_begins_to_leave() -> None:
    """Seed 311639: a merge came before it had left, and the judge looked at the view of the merge."""
    story = Story("abc").view("ab")
    story.event("b", Kind.WAIT_START, value=2, other=0, detail={"what": "leave"})
    at_ns = story.now_ns
    story.view("abc", 2, at="b")
    told = where_refused(next(each.events for each in story.recordings() if each.member.name == "b"))
    assert told is not None and told[0].id.number == 1 and told[1] <= at_ns
    assert where_refused(next(each.events for each in story.recordings() if each.member.name == "a")) is None


def test_who_was_leaving_when_it_was_told_is_asked_for_the_view_in_which_it_was_told() -> None:
    """Simulated seed 361023 (any): it had begun to leave while the last who had the state was alive."""
    story = Story("ab").view("ab").event("b", Kind.WAIT_START, value=1, detail={"what": "leave"}).view("b", 2)
    story.event("b", Kind.UNREAD, detail={"why": "it stands behind a state that was not loaded", "told": "StateError"})
    told = where_refused(next(each.events for each in story.recordings() if each.member.name == "b"))
    assert told is not None and told[0].id.number == 2


def test_repairs_of_different_senders_are_no_storm() -> None:
    """Simulated seed 9: while a roll call fills up, a member asks one for its own message 14 and another's 14."""
    cluster = Cluster(2)
    for t_ns, detail in ((1 * MS, None), (2 * MS, {"origin": ["G", 1, "sim:G"]}), (3 * MS, None)):
        cluster.recorders[1].append(Event(Kind.REPAIR, t_ns, None, cluster.address("B"), 0, 14, 1, detail=detail))
    assert list(storms(cluster.recordings())) == []


def test_the_story_is_in_the_order_of_time_and_hides_the_everyday() -> None:
    _, cluster = run_world(replace(SHORT, faults=(Fault("isolate", 100 * MS, 300 * MS, ("A",)),)))
    short = list(tell(cluster.recordings()))
    whole = list(tell(cluster.recordings(), everything=True))
    assert any("begins: isolate A" in line for line in short)
    assert not any(" sends " in line and "again" not in line for line in short)
    assert any("delivers" in line for line in whole)
    times = [float(line.split()[0]) for line in whole]
    assert times == sorted(times)


def test_a_summary_counts_over_its_runs() -> None:
    good = Outcome(1, 2, simulated_ns=SECOND, faults={"loss": 2}, examined={"G1": 5}, violated={"G1": 0})
    bad = Outcome(7, 3, SECOND, faults={"loss": 1}, examined={"G1": 1}, violated={"G1": 1}, sentences=["G1: twice"])
    result = Summary([bad, good]).to_json()
    assert (result["runs"], result["violations"], result["failed_seeds"]) == (2, 1, [7])
    assert (result["faults"]["loss"], result["faults"]["split"]) == (3, 0), "what never occurred is told too"
    assert result["guarantees"] == {"G1": {"examined": 6, "violations": 1}}
    assert "trace_hash" not in result
    assert "trace_hash" in Summary([good]).to_json()


def fails_with_loss_at_b(options: Options) -> Outcome:
    """A stand-in for a run that fails whenever there is a loss at B."""
    outcome = Outcome(options.seed, options.members)
    if any(fault.kind == "loss" and "B" in fault.members for fault in options.faults):
        outcome.sentences.append("G1: something")
    return outcome


def test_a_failing_run_is_made_small_and_still_fails() -> None:
    faults = tuple(Fault(kind, SECOND // 4, SECOND, ("B",)) for kind in ("delay", "loss", "mute", "freeze", "deaf"))
    small = shrink(replace(draw(3, (6, 6)), faults=faults), fails_with_loss_at_b)
    assert [fault.kind for fault in small.options.faults] == ["loss"]
    assert small.options.members == 2
    assert small.options.safety_ns < SECOND
    assert small.outcome.failed == ("G1",)


def test_a_run_that_does_not_fail_is_left_alone() -> None:
    options = draw(3)
    assert shrink(options, lambda options: Outcome(options.seed, options.members)).options == options


def test_shrinking_stops_when_its_runs_are_used_up() -> None:
    faults = tuple(Fault("loss", 0, SECOND, ("B",)) for _ in range(8))
    assert shrink(replace(draw(3), faults=faults), fails_with_loss_at_b, most_runs=4).runs == 4
