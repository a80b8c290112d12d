"""Batches that can be resumed: what is kept, what a torn line costs, what does not mix."""

from pathlib import Path

import pytest

from ringcast.errors import UsageError
from ringcast.sim import Asked, Kept, Outcome

GOOD = Outcome(1, 2, simulated_ns=5, faults={"loss": 2}, trace_hash="abc")
BAD = Outcome(2, 3, sentences=["G1: twice"])


def test_outcomes_come_back_as_they_were(tmp_path: Path) -> None:
    with Kept(tmp_path / "below" / "seeds.jsonl", Asked()) as kept:
        kept.add(GOOD)
        kept.add(BAD)
        assert kept.outcomes() == {1: GOOD, 2: BAD}
    with Kept(tmp_path / "below" / "seeds.jsonl", Asked()) as kept:
        assert kept.outcomes() == {1: GOOD, 2: BAD}


def test_a_line_that_was_torn_costs_one_seed_and_no_other(tmp_path: Path) -> None:
    file = tmp_path / "seeds.jsonl"
    with Kept(file, Asked()) as kept:
        kept.add(GOOD)
        kept.add(BAD)
    file.write_bytes(file.read_bytes()[:-20])
    with Kept(file, Asked()) as kept:
        assert kept.outcomes() == {1: GOOD}
        kept.add(Outcome(3, 2))
        assert list(kept.outcomes()) == [1, 3]


def test_what_was_asked_for_differently_does_not_mix(tmp_path: Path) -> None:
    with Kept(tmp_path / "seeds.jsonl", Asked()) as kept:
        kept.add(GOOD)
    with Kept(tmp_path / "seeds.jsonl", Asked(workload="total")) as kept:
        assert kept.outcomes() == {}


def test_two_batches_do_not_write_one_file(tmp_path: Path) -> None:
    with Kept(tmp_path / "seeds.jsonl", Asked()), pytest.raises(UsageError, match="another batch is writing"):
        Kept(tmp_path / "seeds.jsonl", Asked())
