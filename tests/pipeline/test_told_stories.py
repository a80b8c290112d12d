"""Every story that a checker's tests tell is judged by the rule too, however its recordings are cut into segments: the
same verdict, as much examined."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from random import Random
from types import ModuleType
from typing import Any

import pytest

pytest.importorskip("numpy", reason="the pipeline needs numpy: pip install 'ringcast[pipeline]'")

from ringcast.checkers import Judgement
from ringcast.checkers import judge as judge_by_checkers
from ringcast.model import Kind
from ringcast.pipeline.rules import engine
from ringcast.pipeline.segment import Segment, decode
from ringcast.trace import FileRecorder, RecorderLimits, Recording
from ringcast.trace.story import Story
from unit.checkers import test_g06_g07, test_g15, test_g16, test_g18

MODULES = {"G7": test_g06_g07, "G15": test_g15, "G16": test_g16, "G18": test_g18}
MULTICAST, PRIVATE, ORDERED = 0, 5, -1
Step = tuple[Kind, str, int, int, dict[str, Any]]
STORIES = [
    (guarantee, module, name)
    for guarantee, module in MODULES.items()
    for name, test in inspect.getmembers(module, inspect.isfunction)
    if name.startswith("test_") and not inspect.signature(test).parameters
]


def segments_of(root: Path, recordings: Iterable[Recording], segment_events: int) -> list[Segment]:
    """Recordings written in segments of so many events, and decoded."""
    limits = RecorderLimits(block_events=max(1, segment_events // 2), segment_events=segment_events)
    for recording in recordings:
        recorder = FileRecorder(root, recording.header, limits=limits)
        events = list(recording.events)
        recorder.extend([event for event in events if event.kind.name not in ("START", "CLOSED")])
        if recording.closed:
            recorder.close(events[-1].t_ns, str((events[-1].detail or {}).get("how", "ended")))
        else:
            recorder.flush()
            recorder.cut()
    return [decode(path.read_bytes(), str(path)) for path in sorted(root.rglob("*.rct"))]


class Both:
    """Judges like the checkers, and makes sure that the rules say the same about one guarantee."""

    def __init__(self, root: Path, guarantee: str, segment_events: int) -> None:
        self._root, self._guarantee, self._segment_events = root, guarantee, segment_events
        self.judged = 0

    def __call__(self, recordings: Iterable[Recording]) -> Judgement:
        recordings = list(recordings)
        by_checkers = judge_by_checkers(recordings)
        self.judged += 1
        segments = segments_of(self._root / str(self.judged), recordings, self._segment_events)
        found = engine.judge(segments).findings[self._guarantee]
        expected = by_checkers.findings[self._guarantee]
        assert (found.verdict, found.examined) == (expected.verdict, expected.examined), (found, expected)
        assert found.violation_count == 0 or found.violations[0].evidence
        return by_checkers


@pytest.mark.parametrize("segment_events", [1, 3, 1000])
@pytest.mark.parametrize(("guarantee", "module", "name"), STORIES, ids=[f"{g} {name}" for g, _, name in STORIES])
def test_the_rule_says_what_the_checker_says_about_a_story(
    guarantee: str,
    module: ModuleType,
    name: str,
    segment_events: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    both = Both(tmp_path, guarantee, segment_events)
    monkeypatch.setattr(module, "judge", both)
    test: Callable[[], Any] = getattr(module, name)
    test()
    assert both.judged


def handing(random: Random) -> list[Step]:
    """`b` delivers and dequeues what `a` and `c` sent, and hands it over in parts: all as it should be."""
    steps: list[Step] = []
    ready: dict[tuple[str, int], int] = {}
    waiting: dict[int, list[tuple[str, int, int]]] = {}
    for _ in range(random.randint(3, 14)):
        sender, line = random.choice("ac"), random.choice((MULTICAST, MULTICAST, PRIVATE, ORDERED))
        first, count = ready.get((sender, line), 0) + 1, random.randint(1, 4)
        ready[sender, line] = first + count - 1
        fields = {"value": 7} if line == ORDERED else {"stream": line}
        steps.append((Kind.DEQUEUE if line == ORDERED else Kind.DELIVER, sender, first, count, fields))
        waiting.setdefault(line, []).append((sender, first, count))
        for line in random.sample(sorted(waiting), random.randint(0, len(waiting))):
            _pass(random, line, waiting[line], steps)
    for line, left in waiting.items():
        while left:
            _pass(random, line, left, steps)
    return steps


def _pass(random: Random, line: int, waiting: list[tuple[str, int, int]], steps: list[Step]) -> None:
    if not waiting:
        return
    sender, first, count = waiting.pop(0)
    fields: dict[str, Any] = {"value": 1} if line == ORDERED else {"stream": line}
    part = random.randint(1, count)
    if part < count and random.random() < 0.5:
        waiting.insert(0, (sender, first + part, count - part))
        count = part
    if line == MULTICAST and random.random() < 0.2:
        steps.append((Kind.TAKEN, sender, first, count, {"value": 1}))
        return
    steps.append((Kind.HANDED, sender, first, count, fields))
    if line != ORDERED:
        steps.append((Kind.TAKEN, sender, first, count, fields))


def spoiled(random: Random, steps: list[Step]) -> list[Step]:
    at = random.randrange(len(steps))
    how = random.choice(("as it is", "lost", "twice", "earlier", "longer"))
    if how == "lost":
        return steps[:at] + steps[at + 1 :]
    if how == "twice":
        return [*steps[: at + 1], *steps[at:]]
    if how == "earlier":
        to = random.randint(0, at)
        return [*steps[:to], steps[at], *steps[to:at], *steps[at + 1 :]]
    if how == "longer":
        kind, sender, first, count, fields = steps[at]
        return [*steps[:at], (kind, sender, first, count + 1, fields), *steps[at + 1 :]]
    return steps


def test_what_is_handed_over_wrongly_in_any_place_is_judged_alike(tmp_path: Path) -> None:
    verdicts: Counter[str] = Counter()
    for seed in range(40):
        random = Random(seed)
        steps = spoiled(random, handing(random))
        story = Story("abc").view("abc")
        for kind, sender, first, count, fields in steps:
            story.event("b", kind, sender, first=first, count=count, **fields)
        both = Both(tmp_path / str(seed), "G15", random.choice((1, 2, 5, 1000)))
        verdicts[both(story.recordings(cut=random.choice(("", "b")))).findings["G15"].verdict] += 1
    assert verdicts["violated"] > 10 and verdicts["held"] > 10


def private_messages(random: Random) -> list[Step]:
    """`a` sends to `b` and `c`, which deliver and ack, until one of them leaves: all as it should be. VIEW: `a`'s next.

    Of a step the second is the other side; who delivers is the other side of `a`.
    """
    steps: list[Step] = []
    stream = dict.fromkeys("bc", PRIVATE)
    sent, got, acked = dict.fromkeys("bc", 0), dict.fromkeys("bc", 0), dict.fromkeys("bc", 0)
    for _ in range(random.randint(4, 16)):
        to = random.choice("bc")
        if random.random() < 0.1 and sent[to]:  # another stream, which carries what was not acked
            stream[to] += 4
            sent[to], got[to], acked[to] = sent[to] - acked[to], 0, 0
            if sent[to]:
                steps.append((Kind.SEND, to, 1, sent[to], {"stream": stream[to]}))
        count = random.randint(1, 4)
        steps.append((Kind.SEND, to, sent[to] + 1, count, {"stream": stream[to]}))
        sent[to] += count
        arrived = random.randint(got[to], sent[to])
        if arrived > got[to]:
            steps.append((Kind.DELIVER, to, got[to] + 1, arrived - got[to], {"stream": stream[to]}))
            got[to] = arrived
        if random.random() < 0.7:
            acked[to] = random.randint(acked[to], got[to])
            steps.append((Kind.ACK, to, 0, 0, {"stream": stream[to], "value": acked[to]}))
        if random.random() < 0.2:
            steps.append((Kind.VIEW, "abc", 0, 0, {}))
    steps.append((Kind.VIEW, "ab", 0, 0, {}))
    if sent["c"] > acked["c"]:
        steps.append((Kind.UNDELIVERED, "c", acked["c"] + 1, sent["c"] - acked["c"], {"stream": stream["c"]}))
    return steps


def test_private_messages_that_go_wrong_in_any_place_are_judged_alike(tmp_path: Path) -> None:
    verdicts: Counter[str] = Counter()
    for seed in range(40):
        random = Random(seed)
        steps = private_messages(random)
        for _ in range(random.randint(0, 4)):  # many a change is still right
            steps = spoiled(random, steps)
        story = Story("abc").view("abc")
        for number, (kind, other, first, count, fields) in enumerate(steps, 2):
            if kind is Kind.VIEW:
                story.view(other, number)
            elif kind is Kind.DELIVER:
                story.event(other, kind, "a", first=first, count=count, **fields)
            else:
                story.event("a", kind, other, first=first, count=count, **fields)
        both = Both(tmp_path / str(seed), "G16", random.choice((1, 2, 5, 1000)))
        verdicts[both(story.recordings(cut=random.choice(("", "", "a")))).findings["G16"].verdict] += 1
    assert verdicts["violated"] > 10 and verdicts["held"] > 10


def states(random: Random) -> list[Step]:
    """`b` gives its state to `j`, both get messages of `a`: all as it should be. A step names whose it is."""
    steps: list[Step] = []
    high = dict.fromkeys([MULTICAST, ORDERED], 0)
    for _ in range(random.randint(1, 6)):
        line = random.choice((MULTICAST, ORDERED))
        first, count = high[line] + 1, random.randint(1, 4)
        high[line] += count
        steps.append((Kind.DEQUEUE if line == ORDERED else Kind.DELIVER, "b", first, count, {}))
        if line == MULTICAST and random.random() < 0.3:
            steps.append((Kind.TAKEN, "b", first, count, {"value": 1}))
        else:
            steps.append((Kind.HANDED, "b", first, count, {"value": int(line == ORDERED)}))
    in_spool = random.random() < 0.5
    if in_spool:
        steps.append((Kind.SPOOLED, "j", high[MULTICAST], 1, {}))
    steps.append((Kind.VIEW, "abj", 0, 0, {}))
    steps.append((Kind.OFFSET, "j", 0, 0, {"value": high[MULTICAST]}))
    told = {"detail": {"told": "state", "why": "it is part of it"}}
    steps += [(Kind.UNREAD, "j", 0, 0, told)] if in_spool else []
    steps.append((Kind.STATE, "b", 0, 0, {"detail": {"step": "cut", "purpose": "join"}}))
    for member, step in (("b", "given"), ("j", "loaded")):
        detail = {"step": step, "purpose": "join", "digest": "d"}
        steps.append((Kind.STATE, member, 0, 0, {"value": 9, "detail": detail}))
    steps.append((Kind.DELIVER, "j", high[MULTICAST] + 1, 2, {}))
    steps.append((Kind.HANDED, "j", high[MULTICAST] + 1, 2, {}))
    return steps


def test_states_that_go_wrong_in_any_place_are_judged_alike(tmp_path: Path) -> None:
    verdicts: Counter[str] = Counter()
    for seed in range(40):
        random = Random(seed)
        steps = states(random)
        for _ in range(random.randint(0, 10)):
            steps = spoiled(random, steps)
        story = Story("abj").view("ab")
        for number, (kind, member, first, count, fields) in enumerate(steps, 2):
            if kind is Kind.VIEW:
                story.view(member, number)
                continue
            peer = {Kind.STATE: "j" if member == "b" else "b", Kind.UNREAD: None}.get(kind, "a")
            story.event(member, kind, peer, first=first, count=count, **fields)
        both = Both(tmp_path / str(seed), "G18", random.choice((1, 2, 5, 1000)))
        verdicts[both(story.recordings(cut=random.choice(("", "", "b")))).findings["G18"].verdict] += 1
    assert verdicts["violated"] > 10 and verdicts["held"] > 5, verdicts
