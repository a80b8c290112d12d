"""Recordings cut into segments anywhere: the same events in other files, which must be judged the same.

PYTHONPATH=tests python -m pipeline.cutting --cuttings 100 DIRECTORY...     (recordings of one run each)
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path
from random import Random

from ringcast.checkers import Judgement, judge
from ringcast.model import Kind
from ringcast.pipeline.rules import engine
from ringcast.pipeline.segment import Segment, decode
from ringcast.trace import Recording, SegmentWriter, directory_for, read_run

_NO_LIMIT = 1 << 40
Judged = dict[str, object]


def cut(root: Path, recordings: Sequence[Recording], random: Random) -> None:
    """Write these recordings in segments that end at random events, each member's in its own places."""
    for recording in recordings:
        events = list(recording.judgeable())
        writer = SegmentWriter(directory_for(root, recording.member), recording.header, _NO_LIMIT, _NO_LIMIT)
        inside = range(1, max(1, len(events) - (1 if events[-1].kind is Kind.CLOSED else 0)))
        places = sorted(random.sample(inside, min(len(inside), random.choice((1, 2, 5, 20, 60)))))
        for begin, end in zip([0, *places], [*places, len(events)], strict=True):
            writer.finish_segment()
            writer.write_events(events[begin:end])
        if recording.closed:
            writer.write_closed()
            writer.close()
        else:
            writer.cut()


def segments_of(root: Path) -> list[Segment]:
    return [decode(path.read_bytes(), str(path)) for path in sorted(root.rglob("*.rct"))]


def summary(judgement: Judgement) -> Judged:
    """What must not depend on how the recordings were cut."""
    found = {name: (f.verdict, f.examined, sorted(f.missing)) for name, f in judgement.findings.items()}
    return {"verdict": judgement.verdict, "not judged": judgement.not_judged, "events": judgement.events, **found}


def cut_and_judged(recordings: Sequence[Recording], random: Random) -> Judged:
    """What the rules say of one cutting, its segments in any order."""
    with tempfile.TemporaryDirectory() as place:
        cut(Path(place), recordings, random)
        segments = segments_of(Path(place))
    random.shuffle(segments)
    return summary(engine.judge(segments))


def prefix_judged(recordings: Sequence[Recording], random: Random) -> tuple[Judgement, Judgement]:
    """What rules and checkers say when of each member's segments only the first few are there."""
    with tempfile.TemporaryDirectory() as place:
        cut(Path(place), recordings, random)
        for recording in recordings:
            paths = sorted(
                directory_for(Path(place), recording.member).iterdir(), key=lambda path: path.name.lstrip("_")
            )
            for path in paths[random.randint(1, len(paths)) :]:
                path.unlink()
        return engine.judge(segments_of(Path(place))), judge(read_run([Path(place)]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cuttings", type=int, default=100)
    parser.add_argument("directories", nargs="+", type=Path)
    options = parser.parse_args()
    different = 0
    for directory in options.directories:
        recordings = read_run([directory])
        whole = summary(engine.judge(segments_of(directory)))
        for number in range(options.cuttings):
            judged = cut_and_judged(recordings, Random(f"cutting {number}"))
            if judged != whole:
                different += 1
                wrong = {name: (whole[name], judged[name]) for name in whole if whole[name] != judged[name]}
                print(f"{directory}, cutting {number}: {wrong}")
    print(f"{len(options.directories)} runs, {options.cuttings} cuttings of each: {different} judged otherwise")


if __name__ == "__main__":
    main()
