"""From recordings to a page on disk: ingest, judge, measure, render, in one Spark session."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from ringcast.checkers import Judgement
from ringcast.pipeline.ingest import ingest_recordings
from ringcast.pipeline.judge import judge_dataset
from ringcast.pipeline.report import render
from ringcast.pipeline.report.subject import gather
from ringcast.pipeline.session import spark_session
from ringcast.trace import Recording


def write_report(
    recordings: Sequence[Recording],
    output: Path,
    title: str,
    say: Callable[[str], None],
    master: str | None = None,
    require: Iterable[str] = (),
) -> Judgement:
    """Judge and measure the recordings and write the page; the judgement is what it says."""
    with TemporaryDirectory(prefix="ringcast-") as place, spark_session(master) as spark:
        say(f"reading {len(recordings)} recordings")
        dataset = ingest_recordings(spark, recordings, Path(place))
        say("judging and measuring")
        judgement = judge_dataset(spark, dataset, require)
        page = render(gather(spark, dataset, judgement, title))
    output.write_text(page, encoding="utf-8")
    return judgement
