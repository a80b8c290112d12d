"""What rules and checkers once missed, what they once accused wrongly, and what they must not claim: told by hand,
judged by both, which must say the same. Y22."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("numpy", reason="the pipeline needs numpy: pip install 'ringcast[pipeline]'")

from pipeline import agreement
from ringcast.checkers import Judgement
from ringcast.checkers import judge as judge_by_checkers
from ringcast.model import Event, Kind
from ringcast.pipeline import Request, check
from ringcast.pipeline.rules import engine
from ringcast.pipeline.segment import Segment, decode
from ringcast.sim import HARNESS
from ringcast.trace import FileRecorder, Header, MemoryRecorder, Recording, read_run
from ringcast.trace.story import Story, address


def as_segments(root: Path, recordings: list[Recording]) -> list[Segment]:
    """Recordings told by hand, written and decoded."""
    for recording in recordings:
        recorder = FileRecorder(root, recording.header)
        events = list(recording.events)
        recorder.extend([e for e in events if e.kind.name not in ("START", "CLOSED")])
        if recording.closed:
            recorder.close(events[-1].t_ns, str((events[-1].detail or {}).get("how", "ended")))
        else:
            recorder.flush()
            recorder.cut()
    return [decode(path.read_bytes(), str(path)) for path in sorted(root.rglob("*.rct"))]


def both(root: Path, recordings: list[Recording], require: tuple[str, ...] = ()) -> Judgement:
    """The judgement of the rules, after making sure that the checkers give the same."""
    by_rules = engine.judge(as_segments(root, recordings), require)
    by_checkers = judge_by_checkers(read_run([root]), require)
    assert _summary(by_rules) == _summary(by_checkers)
    return by_rules


def _summary(judgement: Judgement) -> dict[str, object]:
    judged = [rule.GUARANTEE for rule in engine.RULES]
    found = {g: (f.verdict, f.examined, f.missing) for g, f in judgement.findings.items() if g in judged}
    return {"verdict": judgement.verdict, "not judged": judgement.not_judged, **found}


def violated(judgement: Judgement) -> list[str]:
    return [name for name, finding in judgement.findings.items() if finding.violation_count]


def queue(story: Story, member: str, first: int, count: int, seq: int, to: object = "view") -> Story:
    story.event(member, Kind.QUEUE_START, first=first, count=count, detail={"to": to})
    return story.event(member, Kind.QUEUE_FINISH, first=first, count=count, value=seq)


def dequeue(story: Story, member: str, sender: str, first: int, count: int, seq: int) -> Story:
    return story.event(member, Kind.DEQUEUE, sender, first=first, count=count, value=seq)


def ordered() -> Story:
    """`a` queues a batch of three, `b` one message behind it."""
    story = Story("abc").view("abc")
    queue(story, "a", 5, 3, 1)
    return queue(story, "b", 1, 1, 2)


def test_a_batch_read_in_two_parts_is_one_batch(tmp_path: Path) -> None:
    story = ordered()
    for member in "abc":
        for first, count in ((5, 3),) if member != "c" else ((5, 2), (7, 1)):
            dequeue(story, member, "a", first, count, 1)
        dequeue(story, member, "b", 1, 1, 2)
    assert both(tmp_path, story.recordings()).verdict == "held"


def test_a_torn_batch_is_two_orders(tmp_path: Path) -> None:
    """p7 before z at a, behind z at c: the first of the batch agrees, its last does not."""
    story = ordered()
    for member in "ab":
        dequeue(story, member, "a", 5, 3, 1)
        dequeue(story, member, "b", 1, 1, 2)
    dequeue(story, "c", "a", 5, 2, 1)
    dequeue(story, "c", "b", 1, 1, 2)
    dequeue(story, "c", "a", 7, 1, 3)
    judgement = both(tmp_path, story.recordings())
    assert violated(judgement) == ["G12"]
    first = judgement.findings["G12"].violations[0]
    assert "a#1's 7" in first.sentence and first.evidence


def test_a_message_dequeued_by_one_that_it_was_not_queued_to(tmp_path: Path) -> None:
    story = Story("abc").view("abc")
    queue(story, "a", 1, 1, 1, [["b", 1, "127.0.0.1:5098"]])
    for member in "bc":
        dequeue(story, member, "a", 1, 1, 1)
    story.view("abc", 2)
    judgement = both(tmp_path, story.recordings())
    assert violated(judgement) == ["G16"]
    assert "not queued to it" in judgement.findings["G16"].violations[0].sentence


def test_what_members_had_not_read_at_their_end_is_not_lost(tmp_path: Path) -> None:
    story = Story("ab").view("ab")
    queue(story, "a", 1, 1, 1)
    queue(story, "a", 2, 1, 2)
    for member, upto in (("a", 2), ("b", 1)):
        for number in range(1, upto + 1):
            dequeue(story, member, "a", number, 1, number)
    assert both(tmp_path, story.recordings()).verdict == "held"


def test_a_missing_recording_accuses_nobody_and_is_named(tmp_path: Path) -> None:
    """Strangers of two recordings are the same stranger: G4 and G5 once accused a good run."""
    story = Story("ab").view("abc", at="ab").passed("ab", "a", 3)
    story.deliver("a", "c", 1, 2).deliver("b", "c", 1, 2).view("abc", 2, at="ab")
    judgement = both(tmp_path, story.recordings())
    assert violated(judgement) == []
    assert judgement.findings["G4"].verdict == "held"
    (said,) = judgement.not_judged
    assert "c#1" in said and "G4, G5" in said


def test_lost_events_are_named_with_the_guarantees_they_concern(tmp_path: Path) -> None:
    """b's disk refused: what comes behind the hole is not judged, though it would be a violation."""
    story = Story("ab").view("ab").passed("ab", "a", 3)
    behind = Story("ab").deliver("b", "a", 9, 1).recordings()[1]
    a, b = story.recordings()
    as_segments(tmp_path, [a])
    recorder = FileRecorder(tmp_path, b.header)
    recorder.extend([e for e in b.events if e.kind.name not in ("START", "CLOSED")])
    recorder.flush()
    recorder._writer.write_lost(4)
    recorder.extend([e for e in behind.events if e.kind.name == "DELIVER"])
    recorder.close(story.now_ns)
    segments = [decode(path.read_bytes(), str(path)) for path in sorted(tmp_path.rglob("*.rct"))]
    by_rules, by_checkers = engine.judge(segments), judge_by_checkers(read_run([tmp_path]))
    assert _summary(by_rules) == _summary(by_checkers)
    assert by_rules.verdict == "unjudged" and violated(by_rules) == []
    examined = [name for name, finding in by_rules.findings.items() if finding.examined]
    assert by_rules.not_judged == [f"what b#1 did after 4 of its events were lost ({', '.join(examined)})"]
    assert "G1" in examined and by_rules.reasons == ["4 events were dropped while recording"]


def test_a_recording_cut_to_nothing_leaves_it_unjudged(tmp_path: Path) -> None:
    story = Story("ab").view("ab", at="a")
    judgement = both(tmp_path, story.recordings(cut="b"))
    assert judgement.verdict == "unjudged" and "b#1 breaks off before its first event" in judgement.reasons[0]


def test_a_run_whose_recordings_have_no_event_is_a_run_beside_one_that_held(tmp_path: Path) -> None:
    """Files that are no recordings are named and are no run; recordings that were cut to nothing are one."""
    story = Story("ab").view("ab").send("a", 2).deliver("a", "a", 1, 2).deliver("b", "a", 1, 2)
    as_segments(tmp_path / "good", story.recordings())
    as_segments(tmp_path / "cut", Story("ab").recordings(cut="ab"))
    (tmp_path / "stray.rct").write_bytes(b"no recording")
    found = check(Request([str(tmp_path)], judge="local"))
    assert [judgement.recordings for judgement in found.runs.values()] == [2, 2]
    verdicts = {run.rpartition("/")[2]: judgement.verdict for run, judgement in found.runs.items()}
    assert verdicts == {"cut": "unjudged", "good": "held"} and len(found.unread) == 1


def test_what_came_from_a_recording_cut_to_nothing_is_not_an_error_of_the_rule(tmp_path: Path) -> None:
    """Nothing that b sent is recorded, so nothing that a got from it can be said to be too much."""
    story = Story("ab").view("ab", at="a").deliver("a", "b", 1, 2, stream=1)
    missing = both(tmp_path, story.recordings(cut="b")).findings["G16"].missing
    assert not any("cannot be judged" in reason for reason in missing)


def test_a_recording_that_breaks_off_while_others_show_its_member_alive(tmp_path: Path) -> None:
    story = Story("ab").view("ab").passed("ab", "a", 3).view("ab", 2, at="a")
    judgement = both(tmp_path, story.recordings(cut="b"))
    assert judgement.verdict == "unjudged"
    assert judgement.findings["G4"].verdict == "unjudged" and "a#1|2, in which it is" in judgement.reasons[0]


def test_a_recording_cut_by_a_crash_is_judged_without_its_tail(tmp_path: Path) -> None:
    story = Story("ab").view("ab").passed("ab", "a", 3).view("a", 2)
    judgement = both(tmp_path, story.recordings(cut="b"))
    assert judgement.verdict == "held"
    assert len(judgement.not_judged) == 1 and "b#1" in judgement.not_judged[0] and " s, " in judgement.not_judged[0]


def on_clocks(recordings: list[Recording], clocks: str) -> list[Recording]:
    """The same, each member on its own clock."""
    return [
        Recording.of(replace(r.header, clock=f"clock {clock}"), [*r.events], closed=r.closed)
        for r, clock in zip(recordings, clocks, strict=True)
    ]


def moved(event: Event, by_ns: int) -> Event:
    """The same at another time; some figures are times too."""
    times = (Kind.SUSPEND, Kind.WAIT_START, Kind.HEAL)
    other = event.other + by_ns if event.other and event.kind in times else event.other
    return replace(event, t_ns=event.t_ns + by_ns, other=other)


@pytest.mark.parametrize("ahead_ns", [3_600 * 10**9, -3_600 * 10**9])
@pytest.mark.parametrize("seed", [3, 6])
def test_a_clock_of_the_same_name_that_is_an_hour_off_accuses_nobody(seed: int, ahead_ns: int, tmp_path: Path) -> None:
    """A container may move its clock and show the host's boot all the same."""
    assert not any(agreement.run(seed, tmp_path / "told").violated.values())
    recordings = []
    for recording in read_run([tmp_path / "told"]):
        moved_ns = 10**13 + (ahead_ns if recording.member.name == "B" else 0)
        events = [moved(event, moved_ns) for event in recording.events]
        header = replace(recording.header, clock="monotonic of one boot")
        recordings.append(Recording.of(header, events, closed=recording.closed))
    judgement = both(tmp_path / "moved", recordings)
    assert judgement.verdict == "held"
    assert any("different clocks" in sentence for sentence in judgement.not_judged)


def test_members_on_different_clocks_are_named(tmp_path: Path) -> None:
    story = ordered()
    for member in "abc":
        dequeue(story, member, "a", 5, 3, 1)
        dequeue(story, member, "b", 1, 1, 2)
    recordings = on_clocks(story.recordings(), "112")
    judgement = both(tmp_path / "1", recordings)
    assert judgement.verdict == "held" and "different clocks" in judgement.not_judged[0]
    assert both(tmp_path / "2", recordings, ("G13",)).verdict == "unjudged"


def test_two_buses_in_one_directory_are_two_orders(tmp_path: Path) -> None:
    """They count their places apart; compared by time they once broke G13."""
    story = Story("ab")
    queue(story, "a", 1, 1, 9, ["a"])
    dequeue(story, "a", "a", 1, 1, 9)
    queue(story, "b", 1, 1, 1, ["b"])
    dequeue(story, "b", "b", 1, 1, 1)
    assert violated(both(tmp_path, [_on_bus(r) for r in story.recordings()])) == []


def _on_bus(recording: Recording) -> Recording:
    """The same on a bus that is named after its peer."""
    member = recording.member._replace(endpoint=f"bus:{recording.member.name}")
    events = [replace(e, peer=member if e.peer == recording.member else e.peer) for e in recording.events]
    return Recording.of(replace(recording.header, member=member), events, closed=recording.closed)


def two_groups(**detail: object) -> Story:
    """Two groups of one name, each with views of its own."""
    return Story("abcxyz").view("abc", primary=True, **detail).view("xyz", 2, primary=True, **detail)


def test_two_groups_of_one_name_that_never_shared_a_view_are_told_apart(tmp_path: Path) -> None:
    """Taken for one, they had two primary views with nobody in common."""
    judgement = both(tmp_path, two_groups().passed("abc", "a", 2).passed("xyz", "x", 2).recordings())
    assert judgement.verdict == "held" and judgement.findings["G17"].examined == 2


@pytest.mark.parametrize("what", ["view", "votes", "join", "heal", "quorum", "harness"])
def test_what_makes_two_halves_one_group(what: str, tmp_path: Path) -> None:
    """Each shows that they had to do with each other, or speaks of all: then two primary views are one too many."""
    story = two_groups(quorum=2) if what == "quorum" else two_groups()
    if what == "view":
        story.view("abcxyz", 3, at="z", primary=False)
    elif what == "votes":
        story.view("abc", 3, at="c", primary=False, votes=[[address("c"), address("z")]])
    elif what == "join":
        story.event("a", Kind.REQUESTED, "x", detail={"what": "JOIN", "answer": "busy"})
    elif what == "heal":
        story.event("a", Kind.HEAL, value=1, detail={"what": "all"})
    recordings = story.recordings()
    if what == "harness":
        recorder = MemoryRecorder(Header(HARNESS, "g"))
        recorder.close(story.now_ns)
        recordings.append(recorder.recording())
    assert "G17" in violated(both(tmp_path, recordings))


def test_members_of_two_groups_on_two_clocks_need_not_be_compared(tmp_path: Path) -> None:
    recordings = on_clocks(two_groups().passed("abc", "a", 2).passed("xyz", "x", 2).recordings(), "111222")
    assert both(tmp_path, recordings).not_judged == []


def test_two_successors_of_one_primary_view_are_found(tmp_path: Path) -> None:
    story = Story("abcd").view("abcd", primary=True).view("abc", 2, primary=True)
    assert violated(both(tmp_path / "1", story.recordings())) == []
    story = Story("abcd").view("abcd", primary=True).view("ab", 2, primary=True).view("cd", 3, primary=True)
    assert violated(both(tmp_path / "2", story.recordings())) == ["G17"]


def test_what_a_stale_primary_sent_is_found_in_a_later_one(tmp_path: Path) -> None:
    story = Story("abc").view("abc", primary=True).send("c", 2).view("ab", 2, primary=True)
    judgement = both(tmp_path, story.deliver("a", "c", 1, 2).recordings())
    assert "G17" in violated(judgement)


def test_a_guarantee_without_a_rule_is_unjudged_and_never_held(tmp_path: Path) -> None:
    segments = as_segments(tmp_path, ordered().recordings())
    rules = [rule for rule in engine.RULES if rule.GUARANTEE != "G4"]
    assert engine.judge(segments).findings["G4"].verdict == "held"
    assert engine.judge(segments, rules=rules).findings["G4"].verdict == "unjudged"
    assert engine.judge(segments, ("G4",), rules).verdict == "unjudged"


def test_whole_recordings_may_be_required(tmp_path: Path) -> None:
    """The last finished segment of a member that closed was deleted: what is left looks like a killed member's."""
    told = Story("ab").view("ab").passed("ab", "a", 3).recordings()
    recordings = [without_end(recording) if recording.member.name == "b" else recording for recording in told]
    assert both(tmp_path / "all", told, ("whole",)).verdict == "held"
    assert both(tmp_path / "cut", recordings).verdict == "held"
    judgement = both(tmp_path / "required", recordings, ("whole",))
    assert judgement.verdict == "unjudged"
    assert judgement.reasons == ["the recording of b#1 has no closing mark, and whole recordings are required"]


def without_end(recording: Recording) -> Recording:
    """The same without its end."""
    return Recording.of(recording.header, list(recording.events)[:-1], closed=False)
