"""Metrics measured from tables, and the page that shows them."""

from html.parser import HTMLParser
from pathlib import Path

import pytest

pytest.importorskip("pyarrow", reason="the pipeline needs pyarrow: pip install 'ringcast[pipeline]'")

import numpy as np
import pyarrow.parquet as pq

from ringcast.checkers import judge
from ringcast.model import Kind
from ringcast.pipeline.ingest import ingest_here
from ringcast.pipeline.metrics import Metrics, bucket_of, lower_bound, percentile
from ringcast.pipeline.metrics.kernel import COLUMNS, TimeSlots, measure_unit
from ringcast.pipeline.metrics.measure import _place
from ringcast.pipeline.report import Subject, render
from ringcast.pipeline.rules.unit import Span, load_unit
from ringcast.trace.story import MS, Story


def test_a_bucket_is_within_a_sixteenth_of_its_values() -> None:
    values = np.array([0, 1, 31, 32, 33, 1000, 123_456_789, 2**50 + 12345])
    for value, bucket in zip(values.tolist(), bucket_of(values).tolist(), strict=True):
        assert lower_bound(bucket) <= value <= lower_bound(bucket) * 17 / 16 + 1
    assert (np.diff(bucket_of(np.arange(100_000))) >= 0).all()


def test_percentiles_come_from_counts() -> None:
    assert percentile({10: 99, 20: 1}, 0.99) == 10
    assert percentile({10: 98, 20: 2}, 0.99) == 20
    assert percentile({}, 0.5) is None


@pytest.fixture
def subject(tmp_path: Path) -> Subject:
    story = Story("ab").view("ab").passed("ab", "a", 4).passed("ab", "a", 8).view("ab", 2).deliver("b", "a", 99, 1)
    recordings = story.recordings()
    dataset = ingest_here(recordings, tmp_path)
    batch = measure_unit(load_unit(dataset, Span(0, 99), 2, COLUMNS, "flow"), TimeSlots(0, MS))
    metrics = Metrics(0, MS)
    for row in batch.to_pylist():
        _place(metrics, row)
    control = [row for code in (0, 1) for row in pq.read_table(dataset.control(code)).to_pylist()]
    return Subject("<A run>", judge(recordings), metrics, ["a#1", "b#1"], control, story.now_ns)


def test_what_is_measured_is_what_happened(subject: Subject) -> None:
    metrics = subject.metrics
    assert metrics.total(Kind.SEND) == 12 and metrics.total(Kind.DELIVER) == 25
    assert sum(metrics.latency[0, 1].values()) == 12
    assert sum(sum(by_slot.values()) for by_slot in metrics.delivered.values()) == 25
    # In this story b delivers three events, so three milliseconds, after a has sent.
    assert metrics.latency[0, 1].keys() == {int(bucket_of(np.array([3 * MS]))[0])}
    assert max(metrics.occupancy[0].values()) == 8


class Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.links += [value or "" for name, value in attrs if name in ("src", "href")]
        if tag not in ("meta", "line", "rect", "polyline"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in self.open:
            assert self.open.pop() == tag


def test_the_page_stands_alone_and_tells_the_verdict(subject: Subject) -> None:
    text = render(subject)
    page = Page()
    page.feed(text)
    assert page.open == [] and page.links == [] and "<script" not in text
    assert "&lt;A run&gt;" in text and "violated" in text and "delivered 99 from a#1 after 12" in text
    assert text.count("<svg") == 4 and "a#1|2" in text
