"""Writes the second table of docs/design/planted-violations.md: each falsified recording, and what rules say of it.

PYTHONPATH=tests python -m pipeline.planted_page        (make planted-violations)
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from pipeline.falsified import FALSIFIED
from pipeline.test_truth import as_segments
from ringcast.pipeline.rules import engine

PAGE = Path(__file__).parents[2] / "docs" / "design" / "planted-violations.md"
HEAD = "## Falsified recordings\n"
WORDS = """Small stories told by hand (`tests/pipeline/falsified.py`), each also without the lie.
They were written from the text of the guarantees, by somebody who had read neither rules nor checkers; a few are what
both once missed. `tests/pipeline/test_falsified.py` has them judged by both in one process, `test_rules.py` by the
rules on Spark: one for each guarantee in `make test`, all in `make judged-by-spark`. This table is written by `make
planted-violations`, and a test compares it.
"""


def section() -> str:
    """The text below the heading, from the heading on."""
    rows = [HEAD, WORDS, "| the lie | guarantee | located | in words |", "|---|---|---|---|"]
    with tempfile.TemporaryDirectory() as place:
        for number, one in enumerate(FALSIFIED):
            judgement = engine.judge(as_segments(Path(place) / str(number), one.tell(True)))
            first = judgement.findings[one.guarantee].violations[0]
            sentence = first.sentence.replace("|", "\\|")
            rows.append(f"| {one.name} | {one.guarantee} | {first.members[0]}, event {first.index} | {sentence} |")
    return "\n".join(rows) + "\n"


def main() -> None:
    text = PAGE.read_text(encoding="utf-8").partition(HEAD)[0].rstrip()
    PAGE.write_text(f"{text}\n\n{section()}", encoding="utf-8")


if __name__ == "__main__":
    main()
