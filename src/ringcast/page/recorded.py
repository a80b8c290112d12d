"""Recordings on the page: last night's run with a time slider, and each violation linked to its events.

Everything is read once; the scene at any moment is folded from the nearest kept copy before it.
Members on different clocks are laid side by side by the first view that both installed; the page says so.
"""

from __future__ import annotations

import copy
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from ringcast.checkers import Judgement, judge
from ringcast.errors import UsageError
from ringcast.model import SECOND, TRAFFIC, Address, Event, Kind
from ringcast.page.clocks import shifts
from ringcast.page.log import Log
from ringcast.page.scene import Scene
from ringcast.page.source import number_of, text_of
from ringcast.trace import Recording, is_harness, read_run

MOST_EVENTS = 2_000_000
COPIES = 40  # scenes kept on the way, so that a jump back folds at most a fortieth of the run
FASTEST = 64.0
MOST_LINES = 8_000  # of the log, behind a jump

Moment = tuple[int, int, int, Address, Event]  # time, recording, index in it, who, what


class Recorded:
    """A Source (see source.py)."""

    mode = "recording"
    pause = 0.1
    goes_on_alone = False

    def __init__(self, paths: Sequence[Path]) -> None:
        self.scene = Scene()
        self.log = Log()
        self._paths = paths
        self._moments: list[Moment] = []
        self._times: list[int] = []
        self._copies: list[tuple[int, Scene]] = []
        self._judgement: Judgement | None = None
        self._at = 0  # events that were folded
        self._t_ns = 0
        self._speed = 0.0
        self._has_news = True
        self._clocks: list[str] = []

    async def open(self) -> None:
        recordings = read_run(self._paths)
        self._judgement = judge(recordings)
        self._moments = _in_order(recordings, self._clocks)
        self._times = [moment[0] for moment in self._moments]
        if not self._moments:
            raise UsageError("these recordings hold no event")
        self._keep_copies()
        self.seek(self._times[-1])

    async def close(self) -> None:
        """Nothing is open."""

    def _keep_copies(self) -> None:
        every = max(1, len(self._moments) // COPIES)
        scene = Scene()
        for number, moment in enumerate(self._moments):
            if number % every == 0:
                self._copies.append((number, copy.deepcopy(scene)))
            _fold(scene, moment)

    # ---- time

    async def tick(self, seconds: float) -> bool:
        if self._speed:
            self.seek(self._t_ns + round(seconds * self._speed * SECOND))
            if self._t_ns >= self._times[-1]:
                self._speed = 0.0
        news, self._has_news = self._has_news, False
        return news

    def seek(self, t_ns: int) -> None:
        """Show everything up to and with this moment."""
        t_ns = min(max(t_ns, self._times[0]), self._times[-1])
        until = bisect_right(self._times, t_ns)
        number, scene = next(kept for kept in reversed(self._copies) if kept[0] <= until)
        shown = self._at
        if until < self._at or number > self._at:
            self.scene, self._at = copy.deepcopy(scene), number
            self.log = Log(epoch=self.log.epoch + 1)
            shown = max(0, until - MOST_LINES)
        for moment in islice(self._moments, self._at, until):
            _fold(self.scene, moment)
        for _, _, index, who, event in islice(self._moments, shown, until):
            self.log.add(who, index, event)
        self._at, self._t_ns, self._has_news = until, t_ns, True
        self.scene.on_time(t_ns)

    # ---- for people

    def about(self) -> dict[str, Any]:
        begin_ns = self._times[0]
        return {
            "mode": self.mode,
            "title": ", ".join(str(path) for path in self._paths),
            "length": round((self._times[-1] - begin_ns) / SECOND, 6),
            "speed": self._speed,
            "clocks": self._clocks,
            "verdict": self._verdict(begin_ns),
            "marks": self._marks(begin_ns),
            "does": ["seek", "play", "pause", "speed", "step"],
        }

    def act(self, what: str, words: Mapping[str, Any]) -> None:
        if what == "seek" and "who" in words:
            self.seek(self._time_of(text_of(words, "who"), int(number_of(words, "index", 0, 2**53))))
        elif what == "seek":
            length = (self._times[-1] - self._times[0]) / SECOND
            self.seek(self._times[0] + round(number_of(words, "t", 0, max(length, 0)) * SECOND))
        elif what == "play":
            if self._t_ns >= self._times[-1]:
                self.seek(self._times[0])
            self._speed = self._speed or 1.0
        elif what == "pause":
            self._speed = 0.0
        elif what == "step":
            self._speed = 0.0
            self.seek(self._next_turn())
        elif what == "speed":
            self._speed = number_of(words, "factor", 0.01, FASTEST)
        else:
            raise UsageError(f"a recording cannot do {what!r}")
        self._has_news = True

    def _next_turn(self) -> int:
        """The moment of the next event that changes the course of the run; the end if there is none."""
        later = (moment for moment in islice(self._moments, self._at, None) if moment[4].kind not in TRAFFIC)
        return next((moment[0] for moment in later), self._times[-1])

    def _time_of(self, who: str, index: int) -> int:
        """When this event of this member happened."""
        for t_ns, _, place, member, _ in self._moments:
            if place == index and str(member) == who:
                return t_ns
        raise UsageError(f"these recordings hold no event {index} of {who}")

    def _verdict(self, begin_ns: int) -> dict[str, Any]:
        assert self._judgement is not None
        places = {(str(moment[3]), moment[2]): moment[0] for moment in self._wanted()}
        findings = []
        for name, finding in self._judgement.findings.items():
            violations = []
            for violation in finding.violations:
                who = str(violation.members[0]) if violation.members else ""
                spots = [(str(item.member), item.index) for item in violation.evidence] or [(who, violation.index)]
                times = [places[spot] for spot in spots if spot in places]
                violations.append(
                    {
                        "sentence": violation.sentence,
                        "members": [str(member) for member in violation.members],
                        "t": round((max(times) - begin_ns) / SECOND, 6) if times else None,
                        "events": [{"who": member, "index": index} for member, index in spots],
                    }
                )
            findings.append(
                {"name": name, "verdict": finding.verdict, "examined": finding.examined, "violations": violations}
            )
        return {"verdict": self._judgement.verdict, "reasons": self._judgement.reasons, "guarantees": findings}

    def _wanted(self) -> list[Moment]:
        """The events that violations point at."""
        assert self._judgement is not None
        spots = {
            spot: None
            for finding in self._judgement.findings.values()
            for violation in finding.violations
            for spot in [
                *((str(item.member), item.index) for item in violation.evidence),
                *((str(member), violation.index) for member in violation.members[:1]),
            ]
        }
        return [moment for moment in self._moments if (str(moment[3]), moment[2]) in spots] if spots else []

    def _marks(self, begin_ns: int) -> list[dict[str, Any]]:
        """Moments worth jumping to: faults, heals and the views that they led to."""
        kinds = (Kind.FAULT, Kind.HEAL, Kind.VIEW)
        seen: dict[str, None] = {}
        marks = []
        for t_ns, _, _, who, event in self._moments:
            if event.kind not in kinds:
                continue
            text = str(event.view) if event.kind is Kind.VIEW else str((event.detail or {}).get("what"))
            if event.kind is Kind.VIEW and text in seen:
                continue
            seen[text] = None
            marks.append({"t": round((t_ns - begin_ns) / SECOND, 6), "kind": event.kind.name, "text": text})
            if is_harness(who) and len(marks) > 2_000:
                break
        return marks[:2_000]


def _fold(scene: Scene, moment: Moment) -> None:
    t_ns, _, _, who, event = moment
    if t_ns != event.t_ns:
        event = copy.copy(event)
        event.t_ns = t_ns
    scene.on_event(who, event)


def _in_order(recordings: Sequence[Recording], clocks: list[str]) -> list[Moment]:
    total = sum(recording.count for recording in recordings)
    if total > MOST_EVENTS:
        raise UsageError(
            f"{total:,} events are too many for the page ({MOST_EVENTS:,}); `ringcast report` has no such limit"
        )
    moments = [
        (event.t_ns, number, index, recording.member, event)
        for number, recording in enumerate(recordings)
        for index, event in enumerate(recording.events)
    ]
    clocks += list(dict.fromkeys(recording.header.clock for recording in recordings))
    if len(clocks) > 1:
        clock_of = [recording.header.clock for recording in recordings]
        add = shifts((clock_of[number], event) for _, number, _, _, event in moments)
        moments = [(t_ns + add[clock_of[n]], n, index, who, event) for t_ns, n, index, who, event in moments]
    moments.sort(key=lambda moment: moment[:3])
    return moments
