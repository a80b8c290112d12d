"""Recorded peers that all talk to random subsets, one of them killed half-way: the order held, and much was examined.

Some ten thousand messages here; three million with RINGCAST_LONG=1 (`make bus-records`).
"""

from dataclasses import replace
from pathlib import Path

import pytest

from integration.bus.recorded_load import RULES, Load, run
from integration.long import either
from ringcast.checkers import judge
from ringcast.model import Kind
from ringcast.trace import Recording, read_run

pytestmark = pytest.mark.needs("native")


def test_the_checkers_hold_over_messages_to_random_subsets_and_a_kill(tmp_path: Path) -> None:
    messages = int(either(long=3_000_000, short=50_000))
    judged = run(Load(messages, tmp_path / "records", tmp_path))
    assert {rule: judged.findings[rule].verdict for rule in RULES} == dict.fromkeys(RULES, "held")
    assert judged.findings["G11"].examined > messages / 2
    assert judged.findings["G12"].examined > messages / 4
    assert judged.findings["G13"].examined > messages / 1000


def test_two_dequeues_swapped_in_one_recording_are_noticed(tmp_path: Path) -> None:
    run(Load(5_000, tmp_path / "records", tmp_path))
    recordings = read_run([tmp_path / "records"])
    place = next(at for at, recording in enumerate(recordings) if recording.is_whole)
    events = list(recordings[place].events)
    dequeues = [at for at, event in enumerate(events) if event.kind is Kind.DEQUEUE]
    first, last = dequeues[0], dequeues[-1]
    events[first], events[last] = (
        replace(events[last], ordinal=events[first].ordinal),
        replace(events[first], ordinal=events[last].ordinal),
    )
    recordings[place] = Recording.of(recordings[place].header, events)
    assert judge(recordings, require=RULES).verdict == "violated"
