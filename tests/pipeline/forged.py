"""Well-formed recordings whose events say anything: numbers at their limits, fields missing, of other types, twice.

    PYTHONPATH=tests python -m pipeline.forged --runs 2000 --seed 0

Whoever judges them must come to an end, in time that the size of the recordings bounds, and never raise: what is no
event that a member could have written is a reason not to judge, or a violation. The stories are those of `falsified`.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

from pipeline.falsified import FALSIFIED
from pipeline.test_truth import as_segments
from ringcast.checkers import judge as judge_by_checkers
from ringcast.errors import RingcastError
from ringcast.model import Address, ViewId
from ringcast.pipeline.rules import engine
from ringcast.trace import Recording, read_run

NUMBERS = (0, 1, 2, 3, 7, 64, 255, 2**16, 2**31 - 1, 2**31, 2**32, 2**40, 2**53 + 1, 2**62, 2**63 - 1)
COLUMNS = ("t_ns", "stream", "first", "count", "ordinal", "value", "other", "content")
MOST_SECONDS = 20.0  # of CPU for one forged recording of a few dozen events: a bound against endless work


def forge(random: Random, recording: Recording) -> Recording:
    """One to four of its events changed."""
    events = list(recording.events)
    for _ in range(random.randint(1, 4)):
        at = random.randrange(len(events))
        change = random.randrange(8)
        if change == 0 and len(events) > 1:
            del events[at]
        elif change == 1:
            events.insert(random.randrange(len(events) + 1), events[at])
        elif change == 2:
            events[at] = replace(events[at], kind=random.choice(events).kind)
        elif change == 3 and events[at].detail:
            events[at] = replace(events[at], detail=_other_detail(random, dict(events[at].detail or {})))
        elif change == 4:
            one = random.choice(events)
            events[at] = replace(events[at], peer=one.peer, view=one.view)
        else:
            events[at] = replace(events[at], **{random.choice(COLUMNS): random.choice(NUMBERS)})
    return Recording.of(recording.header, events, recording.closed, recording.dropped)


def _other_detail(random: Random, detail: dict[str, Any]) -> dict[str, Any]:
    key = random.choice(list(detail))
    if random.random() < 0.3:
        del detail[key]
    else:
        detail[key] = _other(random, detail[key])
    return detail


def _other(random: Random, value: Any) -> Any:
    """Something of another type, another number, or the same with one part changed."""
    if isinstance(value, list | tuple) and value and random.random() < 0.7:
        items = list(value)
        at = random.randrange(len(items))
        items[at] = _other(random, items[at])
        return items
    if isinstance(value, dict) and value and random.random() < 0.7:
        return _other_detail(random, dict(value))
    if isinstance(value, ViewId) and random.random() < 0.7:
        return ViewId(random.choice(NUMBERS), value.creator)
    if isinstance(value, Address) and random.random() < 0.7:
        return Address(value.name, random.choice(NUMBERS), value.endpoint)
    return random.choice((None, True, -1, *NUMBERS, "", "x", "a" * 300, [], [1, [2]], {}, {"x": 1}, 1.5))


def judge(random: Random) -> str:
    """A forged story before both judges; the verdict of the rules. Raises what they raise."""
    one = random.choice(FALSIFIED)
    recordings = [forge(random, each) if random.random() < 0.7 else each for each in one.tell(random.random() < 0.5)]
    with tempfile.TemporaryDirectory() as place:
        began = time.process_time()
        try:
            segments = as_segments(Path(place), recordings)
        except (RingcastError, OverflowError, TypeError, ValueError):
            return "not written"
        by_rules = engine.judge(segments)
        by_checkers = judge_by_checkers(read_run([Path(place)]))
        spent = time.process_time() - began
    assert spent < MOST_SECONDS, f"{one.name}: {spent:.0f} s of CPU"
    assert by_rules.verdict in ("held", "violated", "unjudged") and by_checkers.verdict
    return by_rules.verdict


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=2_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    verdicts: dict[str, int] = {}
    for number in range(options.seed, options.seed + options.runs):
        try:
            verdict = judge(Random(f"forged {number}"))
        except Exception as fault:
            raise AssertionError(f"seed {number}: {fault!r}") from fault
        verdicts[verdict] = verdicts.get(verdict, 0) + 1
    print(f"{options.runs} forged recordings, nothing raised: {verdicts}")


if __name__ == "__main__":
    main()
