"""The report by the checkers: figures of `trace stats`, evidence among its events, one file that stands alone."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

from ringcast.cli.app import run
from ringcast.model import Address, Event, Kind
from ringcast.report import About, Judged, Subject, gather, judged_by_checkers, render
from ringcast.report.names import Names
from ringcast.trace import FileRecorder, Header, Recording
from ringcast.trace.story import MS, Story

ABOUT = About("<A run>", "ringcast report recordings -o report.html", ["recordings"], "2026-01-02 03:04 UTC", "1.2.3")
HARNESS = Header(Address("harness", 0, "lab:harness"), "g", {"role": "harness"})


def broken() -> Story:
    """b delivers message 99 of a behind 12."""
    story = Story("ab").view("ab").passed("ab", "a", 4).passed("ab", "a", 8).view("ab", 2)
    return story.deliver("b", "a", 99, 1)


def subject_of(recordings: list[Recording]) -> Subject:
    return gather(judged_by_checkers(recordings), ABOUT)


def written(root: Path, story: Story) -> Path:
    for recording in story.recordings():
        recorder = FileRecorder(root, recording.header)
        recorder.extend([event for event in recording.events if event.kind not in (Kind.START, Kind.CLOSED)])
        recorder.close(story.now_ns)
    return root


class Reader(HTMLParser):
    """Every element closes, and where it points."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.links += [value or "" for name, value in attrs if name in ("src", "href")]
        if tag not in ("meta", "link", "input"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def cells(text: str, anchor: str) -> list[dict[str, str]]:
    """The rows of the first table of a section, by the heads of its columns."""
    part = text.partition(f'<section id="{anchor}"')[2].partition("</section>")[0]
    rows = re.findall(r"<tr><td.*?</tr>", part)
    return [dict(re.findall(r'data-label="([^"]*)">([^<]*)<', row)) for row in rows]


def test_figures_are_those_of_trace_stats(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, page = written(tmp_path / "run", broken()), tmp_path / "report.html"
    assert run(["report", str(source), "-o", str(page), "--checkers", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["path"] == str(page)
    run(["trace", "stats", str(source), "--json"])
    stats = json.loads(capsys.readouterr().out)["members"]
    rows = {row["full name"]: row for row in cells(page.read_text(encoding="utf-8"), "members")}
    assert rows.keys() == stats.keys()
    for name, row in rows.items():
        figures = {key: int(row[key].replace(",", "")) for key in ("sent", "delivered", "events")}
        assert figures == {key: stats[name][key] for key in figures}
    found = re.findall(r'class="tile"><b>(.*?)</b><span>(.*?)<', page.read_text(encoding="utf-8"))
    tiles = {name: value for value, name in found}
    assert int(tiles["messages delivered"]) == sum(row["delivered"] for row in stats.values())
    assert int(tiles["messages sent"]) == sum(row["sent"] for row in stats.values())


def test_what_is_measured_is_what_happened() -> None:
    metrics = subject_of(broken().recordings()).metrics
    assert metrics.total(Kind.SEND) == 12 and metrics.total(Kind.DELIVER) == 25
    # In this story b delivers three events, so three milliseconds, after a has sent.
    ((low, count),) = metrics.latency["a#1", "b#1"].items()
    assert count == 12 and low <= 3 * MS < low * 17 / 16
    assert sum(sum(by_slot.values()) for by_slot in metrics.delivered.values()) == 25
    assert sum(sum(by_bucket.values()) for by_bucket in metrics.pace.values()) == 12
    assert max(metrics.occupancy["a#1"].values()) == 8


def test_a_violation_is_shown_among_its_events_and_linked_to_charts_and_page() -> None:
    subject = subject_of(broken().recordings())
    first = next(shown for shown in subject.violations if shown.guarantee == "G1")
    assert [line.kind for line in first.lines if line.is_evidence] == ["DELIVER"]
    assert len(first.lines) > 3 and first.t is not None and "#1" not in first.sentence
    text = render(subject)
    assert f'id="{first.anchor}"' in text and f'data-t="{first.t:.6f}"' in text
    assert f"/#event=b%231/{first.place[1] if first.place else ''}" in text


def test_the_report_stands_alone_and_lets_nothing_in() -> None:
    text = render(subject_of(broken().recordings()))
    reader = Reader()
    reader.feed(text)
    assert reader.open == []
    outside = [link for link in reader.links if not link.startswith(("#", "data:", "http://127.0.0.1:8642/#event="))]
    assert outside == []
    assert "default-src 'none'" in text and "<A run>" not in text and "&lt;A run&gt;" in text
    assert not re.search(r"^(import|export) ", text, re.MULTILINE)


def test_a_hostile_name_stays_text() -> None:
    story = Story("ab").view("ab").passed("ab", "a", 2)
    recordings = story.recordings()
    evil = Recording.of(
        Header(Address("</script><b>", 1, "<i>"), "g"), [Event(Kind.VIEW, MS, detail={"members": []})], closed=False
    )
    text = render(subject_of([*recordings, evil]))
    assert "</script><b>" not in text and "<i>" not in text


def test_faults_cuts_and_heals_are_told_and_drawn() -> None:
    story = Story("abcd").view("abcd").passed("abcd", "a", 2)
    faults = [
        Event(Kind.FAULT, 2 * MS, detail={"what": "cut", "left": ["a", "b"], "right": ["c", "d"]}),
        Event(Kind.FAULT, 3 * MS, detail={"what": "kill", "members": ["d"]}),
        Event(Kind.HEAL, 9 * MS, value=1),
    ]
    subject = subject_of([*story.recordings(), Recording.of(HARNESS, faults)])
    told = [moment.words for moment in subject.moments if moment.kind in ("fault", "end")]
    assert told == ["network cut between a, b and c, d", "d killed", "all faults are over"]
    cut = next(fault for fault in subject.scene["faults"] if fault["what"] == "cut")
    assert (cut["from"], cut["to"]) == (0.002, 0.009)
    assert [row["member"] for row in subject.people] == ["a#1", "b#1", "c#1", "d#1"]


def test_a_member_that_breaks_off_leaves_its_view_at_its_last_event() -> None:
    story = Story("ab").view("ab").passed("ab", "a", 2).passed("a", "a", 50)
    subject = subject_of(story.recordings(cut="b"))
    ends = {span["member"]: span["to"] for span in subject.scene["spans"]}
    assert ends["b#1"] < ends["a#1"] <= subject.length


def test_members_are_named_as_people_know_them() -> None:
    names = Names(["alice#1", "alice#9z", "bob#4"])
    assert [names.of(name) for name in ("alice#1", "alice#9z", "bob#4", "eve#1")] == [
        "alice",
        "alice (2)",
        "bob",
        "eve#1",
    ]
    assert names.within("bob#4 delivered 5 of alice#9z, not 4") == "bob delivered 5 of alice (2), not 4"


def test_members_on_two_clocks_are_laid_side_by_side() -> None:
    story = Story("ab").view("ab").passed("ab", "a", 4)
    a, b = story.recordings()
    later = [
        Event(
            e.kind, e.t_ns + 10**15, e.view, e.peer, e.stream, e.first, e.count, e.ordinal, e.value, e.other, e.detail
        )
        for e in b.events
    ]
    other = Header(b.member, "g", b.header.config, clock="another")
    judged: Judged = judged_by_checkers([a, Recording.of(other, later)])
    subject = gather(judged, ABOUT)
    assert subject.length < 1.0 and ("a#1", "b#1") not in subject.metrics.latency
    assert all(0 <= span["from"] <= subject.length for span in subject.scene["spans"])


BLOCKED = """
import sys
for name in ("numpy", "pyarrow", "pandas", "pyspark", "starlette", "uvicorn"):
    sys.modules[name] = None
from ringcast.cli import main
sys.argv = ["ringcast", *sys.argv[1:]]
main()
"""


def test_the_checkers_report_needs_no_other_package(tmp_path: Path) -> None:
    source = written(tmp_path / "run", Story("ab").view("ab").passed("ab", "a", 4))
    command = [sys.executable, "-c", BLOCKED, "report", str(source), "-o", str(tmp_path / "report.html"), "--checkers"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "") and (tmp_path / "report.html").exists()


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        (["--checkers", "--judge", "local"], "--checkers and --judge local exclude each other"),
        (["--checkers", "--master", "local[1]"], "--master and --checkers exclude each other"),
        (["--checkers"], "a report is about one run, and here are 2"),
        (["--judge", "local"], "a report is about one run, and here are 2"),
    ],
)
def test_what_cannot_be_reported_is_refused_in_a_sentence(
    tmp_path: Path, more: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("one", "two"):
        written(tmp_path / name, Story("ab").view("ab"))
    assert run(["report", str(tmp_path), "-o", str(tmp_path / "x.html"), *more]) == 2
    assert sentence in capsys.readouterr().err
