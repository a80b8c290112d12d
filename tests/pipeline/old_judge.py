"""Judges recordings by the checkers of another commit: run by old_failures.py with that commit's code on the path.

Uses nothing that commit e089adc does not have; kinds of events that the older code does not know are left out, as they
would not have been recorded then.
"""

from __future__ import annotations

import json
import pickle
import sys
from pathlib import Path
from typing import Any

from ringcast.checkers import judge
from ringcast.model import Address, Event, Kind, ViewId
from ringcast.trace import Header, Recording


def restored(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: restored(item) for key, item in value.items()}
    if not isinstance(value, tuple):
        return value
    what, *parts = value
    if what == "view":
        return ViewId(parts[0], restored(parts[1]))
    return Address(*parts) if what == "address" else [restored(part) for part in parts]


def recording(about: tuple[Any, ...], events: list[tuple[Any, ...]], closed: bool, dropped: int) -> Recording:
    member, group, config, seed, clock = about
    header = Header(Address(*member), group, restored(config), seed, clock=clock)
    known = [
        Event(Kind[kind], t_ns, restored(view), restored(peer), *numbers, detail=restored(detail))
        for kind, t_ns, view, peer, detail, *numbers in events
        if kind in Kind.__members__
    ]
    return Recording.of(header, known, closed, dropped)


def main() -> None:
    runs = pickle.loads(Path(sys.argv[1]).read_bytes())
    verdicts = {name: judge([recording(*one) for one in run]).verdict for name, run in runs.items()}
    json.dump(verdicts, sys.stdout)


if __name__ == "__main__":
    main()
