"""Checkers and rules, written apart, say the same about simulated runs, judged in this process (agreement.py).

The same of a few on Spark is in test_rules.py.
"""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("numpy", reason="the pipeline needs numpy: pip install 'ringcast[pipeline]'")

from pipeline.agreement import ASKED, name_of, run
from ringcast.checkers import Judgement
from ringcast.pipeline.rules import engine
from ringcast.pipeline.segment import decode
from ringcast.sim import Outcome

Said = dict[str, tuple[int, bool]]


def by_checkers(outcome: Outcome) -> Said:
    """Of each guarantee that was examined: how much, and was it violated?"""
    return {name: (n, bool(outcome.violated.get(name))) for name, n in outcome.examined.items() if n}


def by_rules(judgement: Judgement) -> Said:
    return {name: (f.examined, f.violation_count > 0) for name, f in judgement.findings.items() if f.examined}


@pytest.mark.parametrize("number", range(ASKED or 12), ids=name_of)
def test_rules_in_this_process_say_what_checkers_say(number: int, tmp_path: Path) -> None:
    outcome = run(number, tmp_path)
    judgement = engine.judge([decode(path.read_bytes(), str(path)) for path in sorted(tmp_path.rglob("*.rct"))])
    assert by_rules(judgement) == by_checkers(outcome)
