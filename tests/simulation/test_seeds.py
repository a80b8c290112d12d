"""Seeds: whole runs under faults, judged by every checker. RINGCAST_SEEDS says how many; the default is quick."""

import os

from ringcast.sim import Asked, Summary, Task, run_all

SEEDS = int(os.environ.get("RINGCAST_SEEDS", "16"))


def summary_of(fixed: bool, count: int, first: int = 0) -> Summary:
    summary = Summary()
    for outcome in run_all([Task(first + seed, Asked(fixed=fixed)) for seed in range(count)]):
        summary.add(outcome)
    return summary


def assert_good(summary: Summary) -> None:
    assert summary.failed == [], [(outcome.seed, outcome.sentences[:3]) for outcome in summary.failed]


def test_groups_whose_members_come_and_go_keep_every_guarantee() -> None:
    summary = summary_of(False, SEEDS)
    assert_good(summary)
    result = summary.to_json()
    assert result["per_run"]["deliveries"]["min"] >= 500
    assert result["per_run"]["faults"]["min"] >= 1
    assert result["per_run"]["settled"] == SEEDS
    examined = {name for name, counts in result["guarantees"].items() if counts["examined"]}
    assert {"G1", "G2", "G3", "G4", "G5", "G6", "G7", "G8", "G9", "G10", "G14"} <= examined


def test_the_multicast_alone_keeps_its_guarantees() -> None:
    summary = summary_of(True, max(2, SEEDS // 4))
    assert_good(summary)
    assert summary.to_json()["per_run"]["faults"]["min"] >= 5
