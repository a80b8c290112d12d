"""A simulated group on the page: cut it, kill it, freeze it, and see it heal; step by step, and back again.

A run is a seed and a list of acts with their moments; going back means running it again up to an earlier moment, which
gives the same, bit for bit. The same list as text is a link that can be shared.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from ringcast.errors import UsageError
from ringcast.model import MS, SECOND, TRAFFIC
from ringcast.page.log import Log
from ringcast.page.scene import Scene
from ringcast.page.source import number_of, text_of
from ringcast.page.talkers import Talker
from ringcast.testing import World

FASTEST = 16.0
LONGEST_TICK_NS = 500 * MS  # of virtual time: a slow machine shows a slower world, not a page that stands still
STEP_NS = 10 * MS
LONGEST_STEP_NS = 2 * SECOND
MOST_ACTS = 2_000
MOST_SECONDS = 3_600.0

ON_ONE = ("kill", "start", "freeze", "thaw", "isolate", "stop-reading", "read", "leave")


class Act(NamedTuple):
    """What a person did, and when. For links `members` are their ends, two by two."""

    t_ns: int
    what: str
    members: tuple[str, ...] = ()


class Simulated:
    """A Source (see source.py)."""

    mode = "simulated"
    pause = 0.1
    goes_on_alone = False

    def __init__(self, seed: int, members: int, partition: str = "all") -> None:
        if not 2 <= members <= 16:
            raise UsageError(f"the page draws from 2 to 16 simulated members, got {members}")
        self.scene = Scene()
        self.log = Log()
        self._seed = seed
        self._count = members
        self._partition = partition
        self._acts: list[Act] = []
        self._speed = 1.0
        self._is_playing = True
        self._has_news = True
        self._furthest_ns = 0
        self._told: list[int] = []
        self._cuts: dict[tuple[str, str], None] = {}
        self._world: World | None = None

    @property
    def world(self) -> World:
        assert self._world is not None
        return self._world

    async def open(self) -> None:
        self._begin(0, [])

    async def close(self) -> None:
        if self._world is not None:
            self._world.abandon()

    def _begin(self, until_ns: int, acts: list[Act]) -> None:
        """The same run from its seed, with these acts, up to a moment."""
        if self._world is not None:
            self._world.abandon()
        self.scene, self.log = Scene(), Log(epoch=self.log.epoch + 1)
        self._told, self._acts, self._cuts = [], [], {}
        self._world = World(
            Talker,
            self._count,
            seed=self._seed,
            group="page",
            partition=self._partition,  # type: ignore[arg-type]
        )
        for act in acts:
            self._advance_to(act.t_ns)
            self._do(act)
        self._advance_to(until_ns)
        self._see()

    # ---- time

    async def tick(self, seconds: float) -> bool:
        if self._is_playing and self.world.now < MOST_SECONDS:
            span_ns = min(LONGEST_TICK_NS, round(seconds * self._speed * SECOND))
            self._advance_to(self.world.clock.now_ns + span_ns)
            self._see()
        news, self._has_news = self._has_news, False
        return news

    def _advance_to(self, t_ns: int) -> None:
        left_ns = t_ns - self.world.clock.now_ns
        if left_ns > 0:
            self.world.advance(left_ns / SECOND)

    def _step(self) -> None:
        """On to the next event that changes the course, or a little on if none comes soon."""
        last_ns, before = self.world.clock.now_ns + LONGEST_STEP_NS, self._course()
        while self.world.clock.now_ns < last_ns:
            self._advance_to(self.world.clock.now_ns + STEP_NS)
            if self._course() != before:
                break
        self._see()

    def _course(self) -> int:
        return sum(event.kind not in TRAFFIC for recorder in self.world.recorders for event in recorder.events)

    def _see(self) -> None:
        """What was recorded since the last look, in the order of time."""
        news = []
        recorders = self.world.recorders
        self._told += [0] * (len(recorders) - len(self._told))
        for number, recorder in enumerate(recorders):
            events = recorder.events
            for index in range(self._told[number], len(events)):
                news.append((events[index].t_ns, number, index))
            self._told[number] = len(events)
        for _, number, index in sorted(news):
            who, event = recorders[number].header.member, recorders[number].events[index]
            self.scene.on_event(who, event)
            self.log.add(who, index, event)
        self.scene.on_time(self.world.clock.now_ns)
        self._furthest_ns = max(self._furthest_ns, self.world.clock.now_ns)
        for process in self.world.running():
            if process.group is not None:
                words = [
                    {"what": wait.what, "because": wait.because, "since_seconds": wait.since_seconds}
                    for wait in process.group.waiting()
                ]
                self.scene.on_waiting(process.group.me, words)
        self._has_news = True

    # ---- what a person does

    def act(self, what: str, words: Mapping[str, Any]) -> None:
        if what in ("play", "pause"):
            self._is_playing = what == "play"
        elif what == "speed":
            self._speed = number_of(words, "factor", 0.01, FASTEST)
        elif what == "step":
            self._is_playing = False
            self._step()
        elif what == "back":
            self._go_back(number_of(words, "t", 0, MOST_SECONDS))
        elif what == "again":
            self._begin_anew(words)
        else:
            self._happen(what, words)
        self._has_news = True

    def _happen(self, what: str, words: Mapping[str, Any]) -> None:
        if what in ON_ONE:
            members: tuple[str, ...] = (text_of(words, "member"),)
        elif what in ("cut", "mend"):
            members = _pairs(words.get("links"))
        elif what == "split":
            side = words.get("side")
            if not isinstance(side, list) or not side:
                raise UsageError("split needs the members of one side")
            members = tuple(str(name) for name in side)
        elif what == "heal":
            members = ()
        else:
            raise UsageError(f"a simulated group cannot do {what!r}")
        if len(self._acts) >= MOST_ACTS:
            raise UsageError(f"{MOST_ACTS} acts are enough for one run; begin a new one")
        self._do(Act(self.world.clock.now_ns, what, members))
        self._see()

    def _do(self, act: Act) -> None:
        world, members = self.world, act.members
        for name in members:
            world[name]
        match act.what:
            case "kill":
                world.crash(members[0])
            case "start":
                world.start(members[0])
            case "freeze":
                world.freeze(members[0])
            case "thaw":
                world.thaw(members[0])
            case "leave":
                group = world[members[0]].group
                if group is not None:
                    world.spawn(members[0], group.leave())
            case "isolate":
                for other in world.names:
                    if other != members[0]:
                        self._cut(members[0], other)
            case "split":
                for one in members:
                    for other in world.names:
                        if other not in members:
                            self._cut(one, other)
            case "cut":
                for one, other in zip(members[::2], members[1::2], strict=True):
                    self._cut(one, other)
            case "mend":
                for one, other in zip(members[::2], members[1::2], strict=True):
                    self._mend(one, other)
            case "stop-reading":
                world.apps[members[0]].stop_reading()
            case "read":
                world[members[0]].loop.call_soon(world.apps[members[0]].go_on_reading)
            case "heal":
                world.heal()
                self._cuts.clear()
            case _:
                raise UsageError(f"a simulated group cannot do {act.what!r}")
        self._acts.append(act)
        world.advance(0)

    def _cut(self, one: str, other: str) -> None:
        pair = (min(one, other), max(one, other))
        if pair not in self._cuts and one != other:
            self._cuts[pair] = None
            self.world.fault("one-way", one, other)
            self.world.fault("one-way", other, one)

    def _mend(self, one: str, other: str) -> None:
        pair = (min(one, other), max(one, other))
        if self._cuts.pop(pair, pair) is None:
            for fault in [fault for fault in self.world.faults.active if fault.kind == "one-way"]:
                if fault.members in (pair, pair[::-1]):
                    self.world.faults.end(fault)

    def _go_back(self, seconds: float) -> None:
        until_ns = round(seconds * SECOND)
        self._is_playing = False
        furthest_ns = self._furthest_ns
        if until_ns >= self.world.clock.now_ns:
            self._advance_to(min(until_ns, max(furthest_ns, self.world.clock.now_ns)))
            self._see()
        else:
            self._begin(until_ns, [act for act in self._acts if act.t_ns <= until_ns])

    def _begin_anew(self, words: Mapping[str, Any]) -> None:
        """Another seed, other members, or a run that somebody shared."""
        self._seed = int(number_of(words, "seed", 0, 2**53))
        self._count = int(number_of(words, "members", 2, 16)) if "members" in words else self._count
        acts = acts_of(words.get("acts") or "")
        until_ns = round(number_of(words, "t", 0, MOST_SECONDS) * SECOND) if "t" in words else 0
        self._furthest_ns = 0
        self._is_playing = "t" not in words  # Whoever is sent to a moment wants to see it.
        self._begin(max([until_ns, *(act.t_ns for act in acts)]), acts)

    # ---- for people

    def about(self) -> dict[str, Any]:
        return {
            "mode": self.mode,
            "title": f"simulated, seed {self._seed}",
            "seed": self._seed,
            "count": self._count,
            "names": self.world.names,
            "speed": self._speed,
            "playing": self._is_playing,
            "time": round(self.world.now, 6),
            "furthest": round(self._furthest_ns / SECOND, 6),
            "offset": round((self.scene.begin_ns or 0) / SECOND, 6),
            "cuts": [list(pair) for pair in self._cuts],
            "frozen": [process.name for process in self.world.running() if process.is_frozen],
            "stopped": [process.name for process in self.world.processes.values() if process.is_over],
            "not_reading": [name for name, app in self.world.apps.items() if not app.is_reading],
            "acts": text_of_acts(self._acts),
            "does": ["play", "pause", "speed", "step", "back", "again", *ON_ONE, "cut", "mend", "split", "heal"],
        }


def _pairs(links: object) -> tuple[str, ...]:
    if not isinstance(links, list) or not links:
        raise UsageError("links must be a list of pairs of members")
    ends: list[str] = []
    for link in links:
        if not isinstance(link, list) or len(link) != 2 or not all(isinstance(end, str) for end in link):
            raise UsageError(f"a link has two ends, got {link!r}")
        ends += link
    return tuple(ends)


def text_of_acts(acts: list[Act]) -> str:
    """`12.5:cut:A,B;14:heal:` — short enough for a link."""
    return ";".join(f"{act.t_ns / SECOND:.9g}:{act.what}:{','.join(act.members)}" for act in acts)


def acts_of(text: object) -> list[Act]:
    """The acts of a shared link; UsageError if it is not one."""
    if not isinstance(text, str):
        raise UsageError("acts must be a text")
    found = []
    for part in text.split(";") if text else ():
        try:
            moment, what, names = part.split(":")
            found.append(Act(round(float(moment) * SECOND), what, tuple(name for name in names.split(",") if name)))
        except ValueError:
            raise UsageError(f"not an act of a shared run: {part!r}") from None
        if len(found) > MOST_ACTS or not 0 <= found[-1].t_ns <= MOST_SECONDS * SECOND:
            raise UsageError("too many acts, or one too late, in a shared run")
    return sorted(found, key=lambda act: act.t_ns)
