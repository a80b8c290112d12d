"""Seeds: whole runs under faults, judged by every checker. RINGCAST_SEEDS says how many; `make seeds` runs thousands.

In slices, so that the cores share them.
"""

import os

import pytest

from ringcast.sim import Asked, Summary, Task

SEEDS = int(os.environ.get("RINGCAST_SEEDS", "120"))
SLICE = 10


def summary_of(asked: Asked, first: int, count: int) -> Summary:
    return Summary([Task(first + seed, asked)() for seed in range(count)])


def assert_good(summary: Summary) -> None:
    assert summary.failed == [], [(outcome.seed, outcome.sentences[:3]) for outcome in summary.failed]


@pytest.mark.timeout(1800)  # Some seeds have more than twenty members; on a busy machine a slice takes minutes.
@pytest.mark.parametrize("first", range(0, SEEDS, SLICE))
def test_groups_whose_members_come_and_go_keep_every_guarantee(first: int) -> None:
    summary = summary_of(Asked(), first, min(SLICE, SEEDS - first))
    assert_good(summary)
    result = summary.to_json()
    least = {name: spread["min"] for name, spread in result["per_run"].items() if isinstance(spread, dict)}
    assert least["seconds_under_faults"] >= 10 and least["faults"] >= 5
    # With mark files and deaths a group may wait for somebody who is dead: then nothing is sent.
    going_on = [o for o in summary.outcomes if "primary with mark files" not in o.drawn.policies]
    assert min(outcome.deliveries for outcome in going_on) >= 500
    assert result["per_run"]["settled"] == result["runs"]
    examined = {name for name, counts in result["guarantees"].items() if counts["examined"]}
    assert {f"G{number}" for number in range(1, 15)} <= examined


OLDER = [30465, 30488, 30579, 30611, 30889, 31457, 40218, 40363, 40490, 40539, 40576, 40639, 50424, 70579]


@pytest.mark.parametrize("seed", [*OLDER, 200615, 210363, 231309, 240583, 240688, 241697])
def test_what_a_seed_has_found_stays_mended(seed: int) -> None:
    """Each found a fault of its own, also one of a mend: docs/design/simulation.md says which."""
    assert_good(summary_of(Asked(workload="any"), seed, 1))


def test_the_multicast_alone_keeps_its_guarantees() -> None:
    summary = summary_of(Asked(fixed=True), 0, max(2, SEEDS // 24))
    assert_good(summary)
    assert summary.to_json()["per_run"]["faults"]["min"] >= 5


def test_the_one_order_holds_under_crashes_partitions_and_merges() -> None:
    """O06: TOTAL to random subsets in every run."""
    summary = summary_of(Asked(workload="total"), 0, max(2, SEEDS // 24))
    assert_good(summary)
    counts = summary.to_json()
    assert all(counts["guarantees"][name]["examined"] for name in ("G11", "G12", "G13"))
    assert counts["workloads"] == {"total": max(2, SEEDS // 24)}


def test_who_was_excluded_comes_back_as_a_new_incarnation_and_loses_nothing() -> None:
    summary = summary_of(Asked(workload="rejoin"), 0, max(2, SEEDS // 24))
    assert_good(summary)


def test_who_joins_with_state_has_what_it_must() -> None:
    """T01: every process joins with the others' state, while providers crash, leave, stand still and are cut off."""
    summary = summary_of(Asked(workload="state"), 0, max(2, SEEDS // 20))
    assert_good(summary)
    states = summary.to_json()["states"]
    assert states["loaded"] > 0 and states["founded"] > 0
