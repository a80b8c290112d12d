"""What every story with recordings ends with: nothing is found, and it is said how much was looked at.

The checkers judge always; with RINGCAST_JUDGE=spark (`make judged-by-spark`) the rules of the pipeline judge the same
recordings too, on Spark.
"""

from __future__ import annotations

import os
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import Any

from ringcast.checkers import Judgement, judge
from ringcast.trace import read_run

_until_the_end = ExitStack()  # of the test process; Spark ends with it


def expect_held(record: Path, *guarantees: str) -> dict[str, int]:
    """Every guarantee held, and these were examined at all."""
    recordings = read_run([record])
    examined = _expect_held("checkers", judge(recordings), guarantees)
    if os.environ.get("RINGCAST_JUDGE") == "spark":
        from ringcast.pipeline import Application, segment_files

        (judgement,) = Application(segment_files(_spark(), str(record))).judge().values()
        _expect_held("rules on Spark", judgement, guarantees)
    return examined


def _expect_held(judge_name: str, judgement: Judgement, guarantees: tuple[str, ...]) -> dict[str, int]:
    assert judgement.verdict == "held", (judge_name, judgement.reasons)
    examined = {name: judgement.findings[name].examined for name in guarantees}
    print(f"{judge_name}: {judgement.events} events; examined {examined}")
    assert all(examined.values()), (judge_name, examined)
    return examined


@cache
def _spark() -> Any:
    from ringcast.pipeline import spark_session

    return _until_the_end.enter_context(spark_session("local[2]"))
