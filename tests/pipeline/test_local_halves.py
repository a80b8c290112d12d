"""Local halves of rules on generated histories: clean ones pass with coverage, planted faults are found where they
are."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyarrow", reason="the pipeline needs pyarrow: pip install 'ringcast[pipeline]'")

import numpy as np

from ringcast.checkers import GUARANTEES
from ringcast.pipeline.history import PLANTED, Period, Planted, Shape, make_period, write_dataset, write_recordings
from ringcast.pipeline.ingest import ingest_here
from ringcast.pipeline.judge import JOINED_RULES, join_rules
from ringcast.pipeline.rules.cycles import cycle_in
from ringcast.pipeline.rules.g13 import NEVER_NS, known_by
from ringcast.pipeline.rules.joined import load_tables
from ringcast.pipeline.rules.unit import plan_units
from ringcast.pipeline.scan import scan_here, scan_member, scan_unit
from ringcast.pipeline.tables import Dataset
from ringcast.trace import read_run
from ringcast.trace.story import Story, address, digest

LOCAL = ("G1", "G2", "G11", "G12", "G13")
JOINED_ONLY = ("an offset without a view",)


@pytest.fixture(scope="module")
def period() -> Period:
    return make_period(1, Shape(deliveries=12_000))


def facts(dataset: Dataset) -> list[dict[str, Any]]:
    members = len(dataset.members())
    found = [scan_member(dataset, code, GUARANTEES) for code in range(members)]
    found += [scan_unit(dataset, span, GUARANTEES) for span in plan_units(dataset, members)]
    return [row for batch in found for row in batch.to_pylist()]


def violations(rows: list[dict[str, Any]]) -> Counter[str]:
    return Counter(row["guarantee"] for row in rows if row["what"] == "violation")


def test_a_clean_history_passes_and_everything_in_it_is_examined(period: Period, tmp_path: Path) -> None:
    rows = facts(write_dataset(tmp_path, period, 3))
    assert not violations(rows)
    examined = Counter[str]()
    for row in rows:
        if row["what"] == "examined":
            examined[row["guarantee"]] += row["value"]
    assert examined["G1"] == 3 * sum(period.delivered)
    assert examined["G11"] == examined["G12"] == 3 * sum(period.dequeued)
    assert examined["G13"] == 3 * sum(period.queued)


@pytest.mark.parametrize(
    "planted", [p for p in PLANTED if p.guarantee in LOCAL and p.name not in JOINED_ONLY], ids=lambda p: p.name
)
def test_what_is_planted_is_found_and_named(planted: Planted, period: Period, tmp_path: Path) -> None:
    rows = facts(write_dataset(tmp_path, period, 3, (1, planted.into(period))))
    assert planted.guarantee in violations(rows)
    sentence = next(r["sentence"] for r in rows if r["what"] == "violation" and r["guarantee"] == planted.guarantee)
    assert "m0" in sentence


def test_tables_from_recordings_equal_tables_written_directly(period: Period, tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    write_recordings(tmp_path / "recordings", period, 2)
    ingested = ingest_here(read_run([tmp_path / "recordings"]), tmp_path / "ingested")
    direct = write_dataset(tmp_path / "direct", period, 2)
    for code in range(len(period.addresses)):
        for name in ("flow", "order"):
            paths = [getattr(dataset, name)(code) for dataset in (ingested, direct)]
            assert pq.read_table(paths[0]).equals(pq.read_table(paths[1]))
        kept = [row for row in pq.read_table(ingested.control(code)).to_pylist() if row["kind"] not in (1, 2)]
        assert kept == pq.read_table(direct.control(code)).to_pylist()


def test_who_comes_from_another_side_of_a_merge_counts_from_the_digest(tmp_path: Path) -> None:
    for upto, is_early in ((5, False), (6, True)):
        sides = {"subgroups": [[address("a")], [address("b")]], "digest": digest({"a": 5, "b": 0})}
        story = Story("ab").view("ab").send("a", 5).ack("a", "b", 4).view("ab", 7, creator="b", at="a", **sides)
        story.send("a", 1).purge("a", upto)
        rows = facts(ingest_here(story.recordings(), tmp_path / str(upto)))
        assert any(row["what"] == "early" for row in rows) == is_early


@pytest.mark.parametrize("name", JOINED_RULES)
def test_a_joined_half_copes_with_a_run_in_which_little_happened(name: str, tmp_path: Path) -> None:
    for number, story in enumerate((Story("ab"), Story("ab").view("ab"), Story("ab").view("ab").passed("ab", "a", 3))):
        dataset = ingest_here(story.recordings(), tmp_path / str(number))
        rows = join_rules(load_tables(dataset, scan_here(dataset, GUARANTEES)), [name]).to_pylist()
        assert not violations(rows)


def test_a_history_is_the_same_for_the_same_seed() -> None:
    shape = Shape(deliveries=2_000)
    assert make_period(7, shape).events == make_period(7, shape).events
    assert make_period(7, shape).events != make_period(8, shape).events


def test_a_default_history_has_the_shape_it_says() -> None:
    period = make_period(1, Shape(deliveries=50_000))
    runs = [event.count for events in period.events for event in events if event.kind.name == "DELIVER"]
    assert sum(runs) / len(runs) <= 16
    total = sum(period.queued) / (sum(period.queued) + sum(period.sent))
    assert 0.2 < total < 0.3


def test_pairwise_agreement_without_one_order_is_found() -> None:
    """a before b at one, b before c at another, c before a at a third: every pair agrees, no order fits."""
    assert cycle_in({0: [1, 2], 1: [2, 3], 2: [3, 1]}) is not None
    assert cycle_in({0: [1, 2], 1: [2, 3], 2: [1, 3]}) is None
    assert cycle_in({0: [1, 2, 3], 1: [4], 2: []}) is None


def test_on_a_real_clock_an_event_counts_from_the_next_stamp_on() -> None:
    """A member stamps what happens with the begin of its turn; what is stamped 5 had happened when 9 was stamped."""
    stamps = np.array([5, 5, 9, 9, 12])
    assert known_by(stamps).tolist() == [9, 9, 12, 12, NEVER_NS]


def test_two_members_with_opposite_orders_are_named() -> None:
    assert cycle_in({7: [1, 2, 3], 9: [1, 3, 2]}) in ((2, 3, 7, 9), (3, 2, 9, 7))
