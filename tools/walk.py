"""The way of a message or a view change through the source files, from a real run under `sys.setprofile`.

    tools/walk.py send     one multicast in a settled group of three, until everybody has read it
    tools/walk.py total    the same for one message in the one order
    tools/walk.py crash    a member of three crashes, until the others share a view without it
    tools/walk.py merge    two sides of two members each find each other, until all four share a view

Prints the files in the order in which they are first entered, with the number of calls; the simulated world itself,
the recorder and the checkers are left out. `--brief` prints the totals only; `--json` one object: how many `files`,
`functions`, `calls`, and `hops` from one file to another, with the `path`.
"""

from __future__ import annotations

import argparse
import gc
import json
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import FrameType

import ringcast
from ringcast.model import MS, SECOND, Config, profile
from ringcast.sim import Cluster, Fault

ROOT = Path(ringcast.__file__).parent
LEFT_OUT = ("sim", "trace", "checkers")
CHECKS = "core/node.py"  # whose `check` the simulated world calls after every fact


class Walk:
    """Calls per file of ringcast, in the order of first entry."""

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()
        self.functions: set[tuple[str, str]] = set()
        self.hops = 0
        self._last: str | None = None
        self._names: dict[str, str | None] = {}
        self._outside: FrameType | None = None  # a check of the simulated world, until it returns

    def _name(self, file: str) -> str | None:
        path = Path(file)
        if not path.is_relative_to(ROOT) or path.relative_to(ROOT).parts[0] in LEFT_OUT:
            return None
        return str(path.relative_to(ROOT))

    def on_event(self, frame: FrameType, event: str, arg: object) -> None:
        if event == "return" and frame is self._outside:
            self._outside = None
        if event != "call" or self._outside is not None:
            return
        code = frame.f_code
        if code.co_filename.endswith(CHECKS) and code.co_name == "check":
            self._outside = frame
            return
        if code.co_filename not in self._names:
            self._names[code.co_filename] = self._name(code.co_filename)
        name = self._names[code.co_filename]
        if name is not None and code.co_name[0] != "<":
            self.calls[name] += 1
            self.functions.add((name, code.co_qualname))
            self.hops += self._last not in (None, name)
            self._last = name

    def figures(self) -> dict[str, object]:
        return {
            "files": len(self.calls),
            "functions": len(self.functions),
            "calls": self.calls.total(),
            "hops": self.hops,
            "path": [{"file": file, "calls": calls} for file, calls in self.calls.items()],
        }

    def of(self, act: Callable[[], object]) -> None:
        gc.disable()  # finalizers would be counted where they happen to run
        sys.setprofile(self.on_event)
        try:
            act()
        finally:
            sys.setprofile(None)
            gc.enable()

    def until(self, cluster: Cluster, condition: Callable[[], bool]) -> None:
        """Let time pass until then; what the condition itself calls is not counted."""
        end_ns = cluster.clock.now_ns + 60 * SECOND
        while not condition():
            assert cluster.clock.now_ns < end_ns, "it did not come to an end within a simulated minute"
            self.of(lambda: cluster.run_for(MS))


def settled(members: int, config: Config) -> Cluster:
    cluster = Cluster(members, fixed=False, config=config)
    assert cluster.run_until(lambda: cluster.share_a_view() and cluster.is_settled())
    cluster.run_for(SECOND)
    return cluster


def quiet() -> Config:
    """Nothing but the message moves: heartbeats and announcements come rarely."""
    return replace(
        profile("test"),
        heartbeat_ns=3 * SECOND,
        suspect_after_ns=9 * SECOND,
        stall_limit_ns=30 * SECOND,
        announce_ns=60 * SECOND,
    )


def walk_send(walk: Walk) -> None:
    cluster = settled(3, quiet())
    walk.of(lambda: cluster.send("B", b"payload"))
    walk.until(cluster, lambda: all(cluster.read(name, "B") for name in cluster.names))


def walk_total(walk: Walk) -> None:
    cluster = settled(3, quiet())
    walk.of(lambda: cluster.queue("B", b"payload"))
    walk.until(cluster, lambda: all(cluster.application(name).ordered for name in cluster.names))


def walk_crash(walk: Walk) -> None:
    cluster = settled(3, profile("test"))
    walk.of(lambda: cluster.crash("B"))
    walk.until(cluster, cluster.share_a_view)


def walk_merge(walk: Walk) -> None:
    cluster = settled(4, profile("test"))
    cluster.faults.begin(Fault("split", 0, 60 * SECOND, ("A", "B")))
    assert cluster.run_until(lambda: all(len(process.node.view.members) == 2 for process in cluster.alive()))
    walk.of(cluster.heal)
    walk.until(cluster, cluster.share_a_view)


WALKS: dict[str, Callable[[Walk], None]] = {
    "send": walk_send,
    "total": walk_total,
    "crash": walk_crash,
    "merge": walk_merge,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=(*WALKS, "all"))
    parser.add_argument("--brief", action="store_true", help="the totals only")
    parser.add_argument("--json", action="store_true", help="one JSON object on standard output")
    asked = parser.parse_args()
    figures: dict[str, object] = {}
    for what in WALKS if asked.what == "all" else (asked.what,):
        walk = Walk()
        WALKS[what](walk)
        figures[what] = walk.figures()
        if asked.json:
            continue
        if not asked.brief:
            for file, count in walk.calls.items():
                print(f"{count:7} {file}")
        core = [file for file in walk.calls if file.startswith("core/")]
        calls = f"{walk.calls.total()} calls, {walk.hops} hops between files"
        print(f"{what}: {len(walk.calls)} files, {len(core)} of them in core/; {calls}")
    if asked.json:
        print(json.dumps(figures if asked.what == "all" else figures[asked.what]))


if __name__ == "__main__":
    main()
