"""How a process without a group gets into one: look around, ask the coordinator, or found the group.

    look ──heard of a group──► ask its coordinator ──view──► member
      │                          │ BUSY, silence: ask again after a random pause; twice silent: look again
      └──nobody has one, and I am the lowest of those who look──► found it (a view of one)

`expect=n` founds as soon as n are known and otherwise waits longer, so that a concurrent start makes one group; if it
makes two anyway, merge heals that. Time in which this process stood still counts for nothing.
Everything said here is idempotent: duplicates, late and lost answers do no harm.
Bounded: at most `known_peers` endpoints and addresses are remembered. Not discovery: endpoints come in as facts.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from itertools import accumulate, islice
from typing import NamedTuple

from ringcast.core.control import Announce, Hello, Join, JoinRefused, NewView, RollCallId
from ringcast.core.deadlines import Deadlines
from ringcast.core.effects import SendReliable, Warn, probe, send_once
from ringcast.core.entrance import PLAIN, Entrance, RandomSource
from ringcast.core.steps import Steps
from ringcast.model import Address, Config, Entry, Event, Kind, Terms, View, ViewId

TRIES = 2  # without an answer, before another coordinator is asked
ASKED = 16  # coordinators remembered after they were asked
GREETED = 16  # endpoints greeted in one look: its cost does not grow with what discovery knows


class Heard(NamedTuple):
    announce: Announce
    until_ns: int  # forgotten then, unless it is heard again


class Joiner:
    """One process on its way into a group."""

    def __init__(
        self,
        me: Address,
        config: Config,
        random: RandomSource,
        entrance: Entrance = PLAIN,
        terms: Terms | None = None,
        deadlines: Deadlines | None = None,
    ) -> None:
        self.me = me
        self.config = config
        self.expect = entrance.expect
        limits = (config.capacity, config.window_bytes)
        self.request = Join(entrance.observer, entrance.with_state, *limits, terms, entrance.mark)
        self._hello = Hello(entrance.observer)
        self.target: Address | None = None  # whom we asked
        self._asked: deque[Address] = deque(maxlen=ASKED)  # the last ones, for a view may come from one of them
        self.tries = 0  # without any answer from it
        self.busy = 0  # how often it told us to come back
        self._random = random
        self._endpoints: dict[str, None] = {}
        self._heard: dict[Address, Heard] = {}
        self.deadlines = deadlines or Deadlines()
        self._look, self._again = self.deadlines.timer(), self.deadlines.timer()
        self.founds = entrance.founds
        self._after = entrance.after
        self.undiscovered: str | None = None  # why discovery has no answer yet
        self._found_ns = 0
        self._found_anyway_ns = 0

    def begin(self, now_ns: int) -> Steps:
        self._wait_from(now_ns)
        self._look.at_ns = now_ns
        return self.on_time(now_ns)

    def _wait_from(self, now_ns: int) -> None:
        """Found a group when nobody is heard for this long from now on."""
        patience = self.config.expect_ns if self.expect > 1 else self.config.found_after_ns
        self._found_ns = now_ns + patience
        self._found_anyway_ns = self._found_ns + 2 * self.config.found_after_ns

    # ---- what is heard

    def on_discovered(self, now_ns: int, endpoints: Iterable[str], is_all: bool = False) -> Steps:
        """Others may be there. `is_all`: nowhere else; so with nobody known there is nobody to wait for.

        Who wants the others' state, or to be on the primary side, waits all the same: a group that knew this place
        before may call here, and a merge with a group of our own would come too late for that.
        """
        if self.undiscovered is not None:
            self.undiscovered = None
            self._wait_from(now_ns)
        new = [endpoint for endpoint in endpoints if self._remember(endpoint)]
        terms = self.request.terms
        needs_others = self.expect > 1 or self.request.with_state or (terms is not None and terms.primary)
        if is_all and not self._endpoints and not needs_others:
            self._found_ns = self._look.at_ns = now_ns
        return [probe(endpoint, self._hello) for endpoint in new]

    def on_undiscovered(self, why: str) -> None:
        """Discovery has no answer: others may have a group. The wait before founding one begins with an answer."""
        self.undiscovered = why

    def _remember(self, endpoint: str) -> bool:
        if endpoint in self._endpoints or endpoint == self.me.endpoint:
            return False
        if len(self._endpoints) >= self.config.known_peers:
            return False
        self._endpoints[endpoint] = None
        return True

    def on_hello(self, now_ns: int, sender: Address, hello: Hello) -> Steps:
        """Another one is looking; answer, so that the two know each other."""
        self._hear(now_ns, sender, Announce(None, None, observer=hello.observer))
        return [send_once(sender, self.announcement())]

    def announcement(self) -> Announce:
        looking = self.looking
        room = self.config.frame_bytes // 2  # an announcement is one packet
        sizes = accumulate(who.wire_bytes for who in looking)
        known = tuple(who for who, size in zip(looking, sizes, strict=True) if size <= room)
        return Announce(None, None, known, self.request.observer)

    def on_announce(self, now_ns: int, sender: Address, announce: Announce) -> Steps:
        self._hear(now_ns, sender, announce)
        out: Steps = []
        for address in announce.known:
            if address != self.me and self._remember(address.endpoint):
                out.append(send_once(address, self._hello))
        return out + self._ask_if_possible(now_ns)

    def _hear(self, now_ns: int, sender: Address, announce: Announce) -> None:
        if sender == self.me or (sender not in self._heard and len(self._heard) >= self.config.known_peers):
            return
        for other in [other for other in self._heard if sender.is_successor_of(other)]:
            del self._heard[other]
        looks = 5 * (1 + len(self._endpoints) // GREETED)  # so long until it is greeted again, and a few times more
        self._heard[sender] = Heard(announce, now_ns + looks * self.config.discovery_ns)
        self._remember(sender.endpoint)

    # ---- for people who ask what it is waiting for

    @property
    def places(self) -> list[str]:
        return list(self._endpoints)

    @property
    def looking(self) -> list[Address]:
        """Others without a group."""
        return [who for who, heard in self._heard.items() if heard.announce.view is None]

    @property
    def founds_at_ns(self) -> int | None:
        """When it begins a group of its own, if nobody else has one by then; None: never."""
        return None if self.request.observer or not self.founds else self._found_ns

    # ---- asking

    def _ask_if_possible(self, now_ns: int) -> Steps:
        coordinators = self._coordinators()
        return self._ask(now_ns, min(coordinators)) if coordinators and self.target is None else []

    def _coordinators(self) -> list[Address]:
        """Who leads a group, as its members told us lately.

        Not ourselves: members may count us in already, and even wait for us to lead, when the view that says so never
        came. They find out; until then there is nobody to ask.
        """
        said = (heard.announce.coordinator for heard in self._heard.values())
        return [coordinator for coordinator in said if coordinator is not None and coordinator != self.me]

    @property
    def _hears_a_group(self) -> bool:
        return any(heard.announce.coordinator is not None for heard in self._heard.values())

    def _ask(self, now_ns: int, coordinator: Address) -> Steps:
        self.target = coordinator
        if coordinator not in self._asked:
            self._asked.append(coordinator)
        self.tries += 1
        self._again.at_ns = now_ns + self._pause(self.config.join_retry_ns)
        return [SendReliable(coordinator, self.request)]

    def on_busy(self, now_ns: int, sender: Address) -> Steps:
        if sender == self.target:
            self.tries = 0
            self.busy += 1
            self._again.at_ns = now_ns + self._pause(self.config.busy_pause_ns)
        return []

    def on_elsewhere(self, now_ns: int, sender: Address, coordinator: Address) -> Steps:
        if sender != self.target or coordinator in (sender, self.me):
            return []
        self.tries = 0
        return self._ask(now_ns, coordinator)

    def has_found(self, process: Address) -> bool:
        """It was asked, or heard, or named as a coordinator: only such a one may tell us a view, or send us away."""
        return process in self._asked or process in self._heard or process in self._coordinators()

    def _pause(self, pause_ns: int) -> int:
        return int(pause_ns * (0.5 + self._random.random()))

    # ---- founding

    def may_found(self, now_ns: int) -> bool:
        """Nobody has a group, and it is on us to begin one. Observers never do: they cannot lead it."""
        if self.target is not None or self._hears_a_group or self.request.observer or self.undiscovered is not None:
            return False
        if not self.founds or self._slept_ns(now_ns):  # What was said meanwhile may lie unread.
            return False
        looking = {who: heard.announce for who, heard in self._heard.items() if heard.announce.view is None}
        is_time = now_ns >= self._found_ns or (self.expect > 1 and len(looking) + 1 >= self.expect)
        is_lowest = all(self.me < who for who, announce in looking.items() if not announce.observer)
        return (is_time and is_lowest) or now_ns >= self._found_anyway_ns

    def founding(self, after: int = 0) -> NewView:
        """The view of one, with which a group begins, or goes on after view number `after` that its mark knows.

        Above every number that is known from before, so that fencing tokens grow; it never comes from a clock.
        """
        nothing_before, limits = RollCallId(ViewId(0, self.me), 0, 0), self.request
        start = (Entry(0, 0, 0),)
        return NewView(
            nothing_before,
            ViewId(max(after, self._after) + 1, self.me),
            (self.me,),
            (),
            (),
            limits.capacity,
            limits.window_bytes,
            start,
            (),
        )

    # ---- time

    def end(self) -> None:
        """It is in a group now. Founding needed no timer of its own: it was considered with every look."""
        self._look.at_ns = self._again.at_ns = None

    def _slept_ns(self, now_ns: int) -> int:
        """How late the next look is; 0 if no look was missed."""
        late_ns = 0 if self._look.at_ns is None else now_ns - self._look.at_ns
        return late_ns if late_ns >= self.config.discovery_ns else 0

    def _wake(self, slept_ns: int) -> None:
        """While this process stood still nobody was silent: every wait is as long as it would have been."""
        self._found_ns += slept_ns
        self._found_anyway_ns += slept_ns
        self._again.at_ns = None if self._again.at_ns is None else self._again.at_ns + slept_ns
        self._heard = {who: Heard(heard.announce, heard.until_ns + slept_ns) for who, heard in self._heard.items()}

    def on_time(self, now_ns: int) -> Steps:
        out: Steps = []
        slept_ns = self._slept_ns(now_ns)
        if slept_ns:
            self._wake(slept_ns)
        if self._look.is_due(now_ns):
            self._look.at_ns = now_ns + self.config.discovery_ns
            self._heard = {who: heard for who, heard in self._heard.items() if heard.until_ns > now_ns}
            out += [probe(endpoint, self._hello) for endpoint in self._next_in_turn()]
        if self._again.is_due(now_ns) and self.target is not None:
            out += self._ask_again(now_ns, self.target)
        return out

    def _next_in_turn(self) -> list[str]:
        turn = list(islice(self._endpoints, GREETED))
        for endpoint in turn:  # It is asked again last.
            del self._endpoints[endpoint]
            self._endpoints[endpoint] = None
        return turn

    def _ask_again(self, now_ns: int, target: Address) -> Steps:
        if self.tries < TRIES:
            return self._ask(now_ns, target)
        # It is gone, or no longer leads: ask another one, or the same if it is still said to lead, or look again.
        coordinators = self._coordinators()
        self.target, self._again.at_ns, self.tries = None, None, 0
        others = [coordinator for coordinator in coordinators if coordinator != target]
        return self._ask(now_ns, min(others or coordinators)) if coordinators else []


# ---- at who is asked


def refuse_join(now_ns: int, sender: Address, why: str) -> Steps:
    """Its terms are not ours."""
    detail = {"what": "JOIN", "answer": f"refused: here {why}"}
    return [
        Event(Kind.REQUESTED, now_ns, peer=sender, detail=detail),
        Warn(f"refused to let {sender} join: here {why} as at {sender}"),
        SendReliable(sender, JoinRefused(f"there {why} as here")),
    ]


def narrows(view: View, sender: Address, join: Join) -> Steps:
    """One small member slows everybody, and nobody would think of it."""
    if 2 * join.capacity > view.capacity or sender in view:
        return []
    return [
        Warn(f"{sender} joins with capacity {join.capacity}: the whole group's window shrinks from {view.capacity}")
    ]
