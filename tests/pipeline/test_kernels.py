"""Rules as kernels over segments and comparisons of facts, in this process: they say what the checkers say, count the
same things, and do not care where segments are cut."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

pytest.importorskip("numpy", reason="the pipeline needs numpy: pip install 'ringcast[pipeline]'")

from pipeline.planted_histories import ONCE_MISSED, PLANTED, Planted
from ringcast.bench.history import Period, Shape, make_period, tiling
from ringcast.checkers import Judgement, Violation
from ringcast.checkers import judge as judge_by_checkers
from ringcast.pipeline.rules import engine
from ringcast.pipeline.segment import Segment, decode
from ringcast.trace import FileRecorder, Header, RecorderLimits, read_run

SHAPE = {"deliveries": 300, "members": 6, "views": 4}
JUDGED = [rule.GUARANTEE for rule in engine.RULES]


@cache
def _period() -> Period:
    return make_period(1, Shape(name="k", **SHAPE))


def write(root: Path, planted: Planted | None, segment_events: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A history of two turns, the second broken, in segments of about this many events."""
    limits = RecorderLimits(block_events=max(1, segment_events // 2), segment_events=segment_events)

    def recorder(where: Path, header: Header) -> FileRecorder:
        return FileRecorder(where, header, limits=limits)

    monkeypatch.setattr(tiling, "FileRecorder", recorder)
    period = _period()
    tiling.write_recordings(root, period, 2, None if planted is None else (1, planted.into(period)))


def segments_in(root: Path) -> list[Segment]:
    return [decode(path.read_bytes(), str(path)) for path in sorted(root.rglob("*.rct"))]


def violated(judgement: Judgement) -> dict[str, bool]:
    return {name: bool(judgement.findings[name].violation_count) for name in JUDGED}


def examined(judgement: Judgement) -> dict[str, int]:
    return {name: judgement.findings[name].examined for name in JUDGED}


def is_located(violation: Violation) -> bool:
    """In the turn that was changed; what concerns a whole view has no event of its own and says the view."""
    code = _period().addresses.index(violation.members[0])
    return violation.index == 0 or violation.index > len(_period().events[code])


CASES = [(None, 100_000), (None, 100), (None, 20), *((planted, 200) for planted in (*PLANTED, *ONCE_MISSED))]


@pytest.mark.parametrize(
    ("planted", "segment_events"), CASES, ids=[f"{p.name if p else 'clean'} {size}" for p, size in CASES]
)
def test_rules_say_what_checkers_say_wherever_segments_are_cut(
    planted: Planted | None, segment_events: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, planted, segment_events, monkeypatch)
    by_rules, by_checkers = engine.judge(segments_in(tmp_path)), judge_by_checkers(read_run([tmp_path]))
    assert violated(by_rules) == violated(by_checkers)
    assert examined(by_rules) == examined(by_checkers)
    if planted is not None and planted.guarantee in JUDGED:
        found = by_rules.findings[planted.guarantee]
        assert found.violations and found.violations[0].evidence, "a violation comes with the events around it"
        assert is_located(found.violations[0])


def test_facts_go_through_arrow_unchanged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyarrow")
    from ringcast.pipeline.rules.fact import pack_facts, unpack_facts

    write(tmp_path, None, 150, monkeypatch)
    facts = engine.facts_of(segments_in(tmp_path)[0])
    assert unpack_facts(pack_facts(facts)) == facts
