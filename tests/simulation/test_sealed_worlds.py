"""Simulated worlds whose frames are sealed, with a key that is changed under way: the same runs, judged alike.

RINGCAST_SEEDS is how many; `ringcast simulate --workload sealed --seeds N` does the same.
"""

import os
from dataclasses import replace

import pytest

from ringcast.security import seal
from ringcast.sim import Cluster, Link, draw
from ringcast.sim.run import run_world

SEEDS = range(int(os.environ.get("RINGCAST_SEEDS", "3")))


def lost(cluster: Cluster) -> set[str]:
    return {why for process in cluster.everybody() for why in process.transport.counters.lost}


@pytest.mark.parametrize("seed", SEEDS)
def test_whatever_is_drawn_holds_while_the_key_changes(seed: int) -> None:
    options = draw(seed, (2, 5), workload="sealed")
    outcome, cluster = run_world(options)
    assert outcome.is_good, outcome.sentences
    assert cluster.keys is not None and options.key_changes is not None
    assert cluster.keys.changed == 3 * options.key_changes[0] * options.members


def test_a_sealed_world_without_damage_is_the_same_world() -> None:
    """Where no frame is refused, keys change nothing that happens, and a seed replays."""
    clear = replace(draw(0, (3, 3)), faults=(), link=Link())
    sealed = replace(clear, workload="sealed")
    hashes = {run_world(options)[0].trace_hash for options in (clear, sealed, sealed)}
    assert len(hashes) == 1


def test_damage_is_found_out_by_whoever_opens_a_frame() -> None:
    outcome, cluster = run_world(draw(1, (2, 5), workload="sealed"))
    assert outcome.is_good and {seal.NOT_GENUINE, seal.TRUNCATED, seal.UNKNOWN_KEY} <= lost(cluster)
    assert "damaged on the way" not in lost(cluster)
