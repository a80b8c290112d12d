"""Every class of one-way links among four members, and random sets among five to eight: nobody waits for long.

A set of links that do not pass holds for some minutes while every member sends and waits until its message is acked;
then it heals. `python -m simulation.link_classes` runs all of it, shows how far it is, and goes on where it was stopped
(`make link-classes`); `test_link_classes.py` runs a few.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from itertools import combinations, permutations
from pathlib import Path
from random import Random
from typing import NamedTuple

from ringcast.model import SECOND
from ringcast.runtime import Group
from ringcast.sim import Unsettled, names_of
from ringcast.testing import World
from simulation.views import views_of

MINUTE_NS = 60 * SECOND
LASTS_SECONDS = 300
MOST_VIEWS = 6  # in any minute, at any member
LONGEST_WAIT_SECONDS = 25.0  # until a message is acked by all who are still in the view
TOGETHER_SECONDS = 10.0  # after the heal: one view of all
PAUSE_SECONDS = 0.5
SETTLES_SECONDS = 90.0  # of G14, which allows for the longest delay of a member that was excluded
MEMBERS = 4
CLASSES = 218
LABELLINGS = 3
RANDOM_SETS = 500

Links = tuple[tuple[int, int], ...]  # (from, to), by the place of each in the first view: these do not pass


class Case(NamedTuple):
    """One set of links that do not pass."""

    key: str
    size: int
    links: Links


class Outcome(NamedTuple):
    """What came of it: the longest wait, the most views of a member in a minute, the time from the heal to one view."""

    key: str
    longest_wait: float
    most_views: int
    together: float
    error: str = ""

    @property
    def failure(self) -> str:
        found = [self.error] if self.error else []
        if self.longest_wait > LONGEST_WAIT_SECONDS:
            found.append(f"a message waited for {self.longest_wait:.1f} s")
        if self.most_views > MOST_VIEWS:
            found.append(f"{self.most_views} views in a minute")
        if self.together > TOGETHER_SECONDS:
            found.append(f"one view only {self.together:.1f} s after the heal")
        return "; ".join(found)


def classes() -> list[Links]:
    """One set of directed links among four for each class that renaming the members makes equal: 218."""
    pairs = [(a, b) for a in range(MEMBERS) for b in range(MEMBERS) if a != b]
    renamings = list(permutations(range(MEMBERS)))
    seen: dict[Links, None] = {}
    found = []
    for count in range(len(pairs) + 1):
        for links in combinations(pairs, count):
            if links in seen:
                continue
            found.append(links)
            seen.update(dict.fromkeys(tuple(sorted((r[a], r[b]) for a, b in links)) for r in renamings))
    assert len(found) == CLASSES
    return found


def of_four() -> Iterator[Case]:
    """Each class in some labellings: who is the coordinator, and who comes next, differs."""
    for number, links in enumerate(classes()):
        for labelling in range(LABELLINGS):
            order = list(range(MEMBERS))
            Random(f"labelling/{number}/{labelling}").shuffle(order)
            yield Case(f"class/{number}/{labelling}", MEMBERS, tuple(sorted((order[a], order[b]) for a, b in links)))


def random_sets(count: int = RANDOM_SETS) -> Iterator[Case]:
    for number in range(count):
        random = Random(f"links/{number}")
        size = random.randint(5, 8)
        pairs = [(a, b) for a in range(size) for b in range(size) if a != b]
        share = random.choice((0.05, 0.1, 0.2, 0.4, 0.7))
        links = [pair for pair in pairs if random.random() < share]
        if random.random() < 0.3:  # bad in both directions
            links = sorted(dict.fromkeys([*links, *((b, a) for a, b in links)]))
        yield Case(f"random/{number}", size, tuple(links))


class Sending:
    """Sends, and waits until everybody in the view has acked; again and again. Reads everything."""

    def __init__(self) -> None:
        self.waits_since: float | None = None
        self.longest = 0.0

    async def run(self, group: Group) -> None:
        self.group = group
        sending = asyncio.get_running_loop().create_task(self._send())
        try:
            async for _ in group:
                pass
        finally:
            sending.cancel()

    async def _send(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            self.waits_since = loop.time()
            await self.group.send(b"x" * 100)
            await self.group.flush()
            self.note(loop.time())
            self.waits_since = None
            await asyncio.sleep(PAUSE_SECONDS)

    def note(self, now: float) -> None:
        if self.waits_since is not None:
            self.longest = max(self.longest, now - self.waits_since)


def most_in_a_minute(times_ns: list[int]) -> int:
    return max((sum(t <= at < t + MINUTE_NS for at in times_ns) for t in times_ns), default=0)


def tried(case: Case, lasts_seconds: float = LASTS_SECONDS) -> Outcome:
    """Let these links be bad for that long, then heal them."""
    wait, most, together = 0.0, 0, 0.0
    try:
        with World(Sending, names_of(case.size), seed=1, config="lan", bound=SETTLES_SECONDS) as world:
            group = world[world.names[0]].group
            assert group is not None
            order = [member.name for member in group.members]
            world.advance(1)
            began_ns = world.clock.now_ns
            for sender, to in case.links:
                world.fault("one-way", order[sender], order[to])
            world.advance(lasts_seconds)
            most = max(most_in_a_minute([view.t_ns for view in views]) for views in views_of(world, began_ns).values())
            for app in world.apps.values():
                app.note(world.now)
                wait = max(wait, app.longest)
            healed = world.now
            world.heal()
            world.agree(SETTLES_SECONDS)
            together = world.now - healed
    except (AssertionError, Unsettled) as error:
        return Outcome(case.key, wait, most, together, f"{type(error).__name__}: {str(error)[:300]}")
    return Outcome(case.key, wait, most, together)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--resume", type=Path, default=Path("out/link-classes.jsonl"))
    parser.add_argument("--only", default="", help="only cases whose key begins so")
    parser.add_argument("--seconds", type=float, default=LASTS_SECONDS)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--every", type=int, default=1, help="each n-th case only")
    options = parser.parse_args()
    options.resume.parent.mkdir(parents=True, exist_ok=True)
    lines = options.resume.read_text().splitlines() if options.resume.exists() else []
    done = {outcome.key: outcome for outcome in (Outcome(**json.loads(line)) for line in lines)}
    every = [*of_four(), *random_sets()][:: options.every]
    cases = [case for case in every if case.key.startswith(options.only) and case.key not in done]
    failed = [outcome for outcome in done.values() if outcome.failure]
    logging.disable(logging.ERROR)  # Members that are excluded say so; here that is no news.
    with ProcessPoolExecutor(options.processes) as pool, options.resume.open("a") as log:
        running = [pool.submit(tried, case, options.seconds) for case in cases]
        for number, future in enumerate(as_completed(running), 1):
            outcome = future.result()
            done[outcome.key] = outcome
            log.write(json.dumps(outcome._asdict()) + "\n")
            log.flush()
            if outcome.failure:
                failed.append(outcome)
                print(f"\r{outcome.key}: {outcome.failure}", flush=True)
            print(f"\r{number}/{len(cases)} sets of links", end="", file=sys.stderr, flush=True)
    print(
        f"\n{len(done)} sets, {len(failed)} failed; longest wait {max(o.longest_wait for o in done.values()):.1f} s, "
        f"most views in a minute {max(o.most_views for o in done.values())}, "
        f"longest way to one view {max(o.together for o in done.values()):.1f} s"
    )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
