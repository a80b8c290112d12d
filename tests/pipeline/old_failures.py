"""Recordings of failures that the checkers of commit e089adc called held, and what is said of them today.

Each strengthened or new guarantee has stories told by hand (falsified.py) and runs of simulated groups with the mistake
planted. Writes the third table of docs/design/planted-violations.md; with a clone of that commit it asks the old
checkers again, and fails if they would have noticed:

    PYTHONPATH=tests python -m pipeline.old_failures             (make planted-violations)
    git clone . /tmp/old && git -C /tmp/old checkout e089adc
    PYTHONPATH=tests python -m pipeline.old_failures /tmp/old
"""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipeline.falsified import FALSIFIED
from pipeline.test_truth import as_segments
from ringcast.model import Address, Event, ViewId
from ringcast.pipeline.rules import engine
from ringcast.sim.planted import known, options_for, plant
from ringcast.sim.run import run_world
from ringcast.trace import Recording

PAGE = Path(__file__).parents[2] / "docs" / "design" / "planted-violations.md"
BEGIN, END = "<!-- old failures: begin -->", "<!-- old failures: end -->"
OLD_JUDGE = Path(__file__).with_name("old_judge.py")

TOLD = (
    "one view id, two primary marks",
    "one view id, two bounds in bytes",
    "the handler goes on before the view has reached anybody",
    "a party that speaks through one who does not lead it",
    "a cancel that is said to be sent and never comes",
    "a holder lets go, and nothing stands behind it",
    "an entry above what its member ever sent",
    "a digest older by one at one member",
    "the dead stays in the last view",
    "a process that was there at the heal and is in no view",
    "a group that died out while a process of it waits",
    "one that lives is excluded after all had shared a view",
    "acked before it was handed over",
    "handed over before it was delivered",
    "dropped in the middle, and the rest handed over",
    "an ordered message lost at one destination that goes on",
    "given up although its destination stays",
    "a private message of one stream, delivered by another",
    "a majority made of observers",
    "an older primary view gets a second successor",
    "the provider gives a state with one message too many",
    "the joiner is given a message before its state",
    "the joiner goes on without the state that was given to it",
    "a merged state made twice, and not the same",
)

SEEDS = 5


@dataclass(frozen=True, slots=True)
class PlantedRun:
    """A simulated run that breaks this guarantee because of a planted mistake: that of this seed, or of one of the next
    if the draws have changed since."""

    guarantee: str
    bug: str
    seed: int

    def recordings(self) -> list[Recording]:
        bug = known(self.bug)
        with plant(bug):
            for seed in range(self.seed, self.seed + SEEDS):
                outcome, cluster = run_world(options_for(bug, seed))
                if self.guarantee in outcome.failed:
                    return list(cluster.recordings())
        raise AssertionError(f"{self.bug!r} does not break {self.guarantee} in {SEEDS} seeds from {self.seed} on")


RUNS = (
    PlantedRun("G4", "each side of a merge keeps its own window bytes", 4),
    PlantedRun("G6", "the view handler goes on before the view has reached anybody", 0),
    PlantedRun("G14", "a joiner asks once", 6),
    PlantedRun("G15", "a run is handed over twice", 4),
    PlantedRun("G16", "an ordered message is forgotten at its second destination", 0),
    PlantedRun("G17", "half of the voters go on, whoever they are", 11),
    PlantedRun("G18", "a joiner reads its view before its state", 4),
)


def stories() -> dict[str, tuple[str, list[Recording]]]:
    """By name: which guarantee it breaks, and its recordings."""
    return {one.name: (one.guarantee, one.tell(True)) for one in FALSIFIED if one.name in TOLD}


# ---- the checkers of then


def judged_then(clone: Path, recordings: Mapping[str, list[Recording]]) -> dict[str, str]:
    """The verdict over each run, by the code of another commit, which knows fewer kinds of events."""
    plain = {name: [_plain_recording(one) for one in run] for name, run in recordings.items()}
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "recordings.pickle"
        path.write_bytes(pickle.dumps(plain))
        env = {**os.environ, "PYTHONPATH": str(clone / "src")}
        command = [sys.executable, str(OLD_JUDGE), str(path)]
        said = subprocess.run(command, env=env, stdout=subprocess.PIPE, check=True).stdout
    verdicts: dict[str, str] = json.loads(said)
    return verdicts


def _plain_recording(recording: Recording) -> tuple[Any, ...]:
    header = recording.header
    events = [
        [*(e.kind.name, e.t_ns, _plain(e.view), _plain(e.peer), _plain(e.detail)), *_numbers(e)]
        for e in recording.events
    ]
    about = (tuple(header.member), header.group, _plain(header.config), header.seed, header.clock)
    return about, events, recording.closed, recording.dropped


def _numbers(event: Event) -> tuple[int, ...]:
    return event.stream, event.first, event.count, event.ordinal, event.value, event.other


def _plain(value: Any) -> Any:
    """Without a class of ours: an Address and a ViewId say what they are."""
    if isinstance(value, ViewId):
        return ("view", value.number, _plain(value.creator))
    if isinstance(value, Address):
        return ("address", *value)
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return ("list", *map(_plain, value))
    return value if isinstance(value, str | int | float | bytes | None) else str(value)


# ---- the page


def section() -> str:
    rows = ["| guarantee | the failure | then | located now | in words |", "|---|---|---|---|---|"]
    with tempfile.TemporaryDirectory() as place:
        for number, (name, (guarantee, recordings)) in enumerate(stories().items()):
            judgement = engine.judge(as_segments(Path(place) / str(number), recordings))
            first = judgement.findings[guarantee].violations[0]
            sentence = first.sentence.replace("|", "\\|")
            rows.append(f"| {guarantee} | {name} | held | {first.members[0]}, event {first.index} | {sentence} |")
    rows += [f"| {run.guarantee} | a run with the planted bug “{run.bug}” | held | | |" for run in RUNS]
    return "\n".join(rows)


def main() -> None:
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    PAGE.write_text(f"{before}{BEGIN}\n{section()}\n{END}{rest.partition(END)[2]}", encoding="utf-8")
    for clone in map(Path, sys.argv[1:]):
        recordings = {name: told for name, (_, told) in stories().items()} | {r.bug: r.recordings() for r in RUNS}
        verdicts = judged_then(clone, recordings)
        for name, verdict in verdicts.items():
            print(f"{verdict}  {name}")
        if set(verdicts.values()) != {"held"}:
            raise SystemExit("the old checkers would have noticed some of them")


if __name__ == "__main__":
    main()
