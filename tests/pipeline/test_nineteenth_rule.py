"""The rule that docs/design/pipeline.md writes as an example is one file, and works as it stands there."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest

pytest.importorskip("numpy", reason="the pipeline needs numpy: pip install 'ringcast[pipeline]'")

from ringcast.pipeline.rules import engine
from ringcast.pipeline.rules.fact import EXAMINED, VIOLATION, Fact
from ringcast.pipeline.rules.run import Run
from ringcast.pipeline.segment import decode
from ringcast.trace import FileRecorder
from ringcast.trace.story import Story

PAGE = Path(__file__).resolve().parents[2] / "docs" / "design" / "pipeline.md"


@pytest.fixture(scope="module")
def rule() -> ModuleType:
    text = PAGE.read_text(encoding="utf-8").split("### A nineteenth rule")[1].split("```python\n")[1].split("```")[0]
    module = ModuleType("g19_example")
    exec(compile(text, str(PAGE), "exec"), module.__dict__)
    return module


def results(rule: ModuleType, root: Path, story: Story) -> list[Fact]:
    for recording in story.recordings():
        recorder = FileRecorder(root, recording.header)
        recorder.extend([e for e in recording.events if e.kind.name not in ("START", "CLOSED")])
        recorder.close(story.now_ns)
    segments = [decode(path.read_bytes(), str(path)) for path in sorted(root.rglob("*.rct"))]
    facts = [fact for segment in segments for fact in engine.facts_of(segment, [rule])]
    out = engine.Out(rule.GUARANTEE)
    rule.compare(Run(facts), out)
    return [*facts, *out.done()]


def test_a_good_run_is_examined_and_held(rule: ModuleType, tmp_path: Path) -> None:
    rows = results(rule, tmp_path, Story("ab").view("ab").passed("ab", "a", 4))
    assert [row for row in rows if row.what == VIOLATION] == []
    assert sum(row.value for row in rows if row.what == EXAMINED) == 8


def test_what_it_judges_is_found(rule: ModuleType, tmp_path: Path) -> None:
    rows = results(rule, tmp_path, Story("ab").view("ab").passed("ab", "a", 4).taken("b", "a", 5, 2))
    assert [row.text for row in rows if row.what == VIOLATION] == ["b#1 took 6 from a#1, more than it delivered"]
