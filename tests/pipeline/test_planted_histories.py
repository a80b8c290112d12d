"""Each kind of planted violation in a long history is found, named and located; a clean one passes with coverage.

`make planted-histories` (RINGCAST_PLANTED_DELIVERIES) takes a million deliveries each and judges them on Spark, and
prints the table that stands in docs/design/pipeline.md. In every `make test` three short ones, judged in this process:
short histories of every kind are in test_kernels.py.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyarrow", reason="the pipeline needs pyarrow: pip install 'ringcast[pipeline]'")

from pipeline.planted_histories import PLANTED, Planted
from ringcast.bench.history import Period, Shape, make_period, write_recordings
from ringcast.checkers import GUARANTEES, Judgement
from ringcast.pipeline import Application, judge_local
from ringcast.pipeline.reading import segment_files

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TURNS = 2
DELIVERIES = int(os.environ.get("RINGCAST_PLANTED_DELIVERIES", "1000"))
IS_LONG = DELIVERIES >= 1_000_000
LONG, SHORT = {"members": 8, "views": 10}, {"members": 6, "views": 4}


@pytest.fixture(scope="module")
def period() -> Period:
    return make_period(1, Shape(deliveries=DELIVERIES // TURNS + 1, **(LONG if IS_LONG else SHORT)))


@pytest.fixture
def session(request: pytest.FixtureRequest) -> SparkSession | None:
    found: SparkSession | None = request.getfixturevalue("spark") if IS_LONG else None
    return found


def judged(session: SparkSession | None, root: Path, period: Period, planted: Planted | None) -> Judgement:
    changed = None if planted is None else (TURNS - 1, planted.into(period))
    write_recordings(root, period, TURNS, changed)
    if session is None:
        return judge_local([str(root)])[0].judgement
    application = Application(segment_files(session, str(root)))
    (judgement,) = application.judge().values()
    application.close()
    return judgement


def test_a_clean_history_holds_and_everything_was_examined(
    session: SparkSession | None, period: Period, tmp_path: Path
) -> None:
    judgement = judged(session, tmp_path, period, None)
    assert judgement.verdict == "held" and TURNS * period.deliveries >= DELIVERIES
    examined = {name: judgement.findings[name].examined for name in GUARANTEES[:14]}  # whose events a made history has
    print(f"\n{TURNS * period.deliveries:,} deliveries, clean: held; examined {examined}")
    assert all(examined.values())
    assert examined["G1"] == TURNS * sum(period.delivered) and examined["G12"] == TURNS * sum(period.dequeued)


@pytest.mark.parametrize("planted", PLANTED if IS_LONG else PLANTED[::12], ids=lambda planted: planted.name)
def test_a_planted_violation_is_found_named_and_located(
    planted: Planted, session: SparkSession | None, period: Period, tmp_path: Path
) -> None:
    finding = judged(session, tmp_path, period, planted).findings[planted.guarantee]
    assert finding.verdict == "violated"
    first = finding.violations[0]
    print(f"\n| {planted.name} | {planted.guarantee} | {first.members[0]}, event {first.index:,} | {first.sentence} |")
    assert first.members[0] in period.addresses
    # In the turn that was changed; what concerns a whole view has no event of its own and says the view.
    code = period.addresses.index(first.members[0])
    assert first.index == 0 or first.index > len(period.events[code])
