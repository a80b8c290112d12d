"""What is known about one peer's life: when it was heard, how far its core loop has come, what is doubted.

A peer is trusted, doubted (the direct question was put, its answer awaited) or suspected. Each doubt has a reason, and
only what speaks against that reason ends it: a heartbeat shows that a process lives, not that its loop turns.
Not a timer: the detector asks at its deadlines.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from ringcast.core.failure.largest_set import who_stays
from ringcast.model import Address, Config, View


class Reason(StrEnum):
    """Why a member is suspected, and with it what clears it again."""

    SILENT = "silent"  # cleared by anything heard from it
    STALLED = "no progress"  # its heartbeats come, its core loop stands still; cleared by progress
    REPORTED = "reported from outside"  # settled by the next view
    UNHEARD = "two members do not hear each other"  # cleared when they do again


@dataclass(slots=True)
class Health:
    heard_ns: int
    progressed_ns: int
    progress: int | None = None  # none yet: it sends us no heartbeats
    is_slow: bool = False
    doubt: Reason | None = None
    is_suspected: bool = False
    since_ns: int = 0  # when the doubt began; then when the suspicion was raised last
    asked_ns: int = 0
    was_told: bool = False  # the doubt came from another member
    is_unheard: bool = False  # others hear it and we do not
    vouched_ns: int | None = None  # when another member said last that it hears this peer, since the doubt began
    complained_ns: int = 0

    def begin(self, now_ns: int) -> None:
        """Begin to expect heartbeats: what was not heard before says nothing."""
        self.heard_ns = self.progressed_ns = now_ns
        self.progress, self.is_slow = None, False

    def doubt_it(self, now_ns: int, reason: Reason, *, told: bool = False) -> None:
        self.doubt, self.is_suspected, self.was_told = reason, False, told
        self.since_ns = self.asked_ns = now_ns
        self.vouched_ns = None

    def suspect(self, now_ns: int, reason: Reason) -> None:
        self.doubt, self.is_suspected, self.since_ns = reason, True, now_ns

    def trust(self) -> None:
        self.doubt, self.is_suspected, self.was_told = None, False, False
        self.is_unheard, self.vouched_ns = False, None

    def is_well(self, since_ns: int) -> bool:
        """Heard since then, its core loop goes on, and nobody says otherwise: there is nothing to examine."""
        is_doubted = self.doubt is not None or self.is_unheard or self.is_slow
        return not is_doubted and self.heard_ns > since_ns and self.progressed_ns > since_ns

    def due_ns(self, config: Config) -> int:
        """When it is examined next, if nothing is heard of it until then."""
        if self.doubt is None and not self.is_unheard:
            return self.heard_ns + config.suspect_after_ns
        if self.is_unheard:
            due_ns = self.complained_ns + config.suspect_repeat_ns
            return min(due_ns, self.since_ns + config.suspect_repeat_ns) if self.is_suspected else due_ns
        if self.is_suspected:
            return self.since_ns + config.suspect_repeat_ns
        return min(self.since_ns + config.verify_ns, self.asked_ns + config.verify_ns // 2 + 1)

    def note_progress(self, now_ns: int, progress: int) -> bool:
        """True if the core loop has turned since the last heartbeat."""
        if progress == self.progress:
            return False
        self.progress, self.progressed_ns = progress, now_ns
        return True

    def forgive(self, now_ns: int, slept_ns: int) -> None:
        """We slept ourselves; what we did not hear meanwhile says nothing about the peer."""
        self.heard_ns = min(now_ns, self.heard_ns + slept_ns)
        self.progressed_ns = min(now_ns, self.progressed_ns + slept_ns)
        self.since_ns = min(now_ns, self.since_ns + slept_ns)
        self.asked_ns = min(now_ns, self.asked_ns + slept_ns)
        self.complained_ns = min(now_ns, self.complained_ns + slept_ns)
        if self.vouched_ns is not None:
            self.vouched_ns = min(now_ns, self.vouched_ns + slept_ns)


def calm_until_ns(
    now_ns: int, known: Mapping[Address, Health], watched: Iterable[Address], well_ns: int, config: Config
) -> int | None:
    """When to look again, if all are well, as nearly always; None: they must be examined one by one."""
    for health in known.values():
        if health.doubt is not None:
            return None
    since_ns, heard_ns = now_ns - well_ns, now_ns + config.heartbeat_ns
    for peer in watched:
        health = known[peer]
        if health.is_unheard or health.is_slow or health.heard_ns <= since_ns or health.progressed_ns <= since_ns:
            return None
        if health.heard_ns < heard_ns:
            heard_ns = health.heard_ns
    return min(now_ns + config.heartbeat_ns, heard_ns + config.suspect_after_ns) if known else None


class Complaints:
    """Members that do not hear each other although others hear both: one of each pair has to go, or the group stands.

    A complaint (by, about) lives as long as it is repeated. As soon as one was repeated for the limit, all that live
    say who stays (largest_set.py). Everybody who knows the same complaints finds the same answer, also who has to go
    itself: a coordinator counts what is said about itself.
    """

    def __init__(self, limit_ns: int, repeat_ns: int) -> None:
        self.limit_ns = limit_ns
        self.forget_ns = 3 * repeat_ns
        self.spans: dict[tuple[Address, Address], tuple[int, int]] = {}  # (by, about) -> first and last time
        self._judged: tuple[object, tuple[Address, ...]] | None = None  # the last question and its answer

    def __contains__(self, member: Address) -> bool:
        """Does somebody not hear it, or does it not hear somebody?"""
        return any(member in pair for pair in self.spans)

    def has_lasted(self, member: Address) -> bool:
        """Was a complaint with it repeated? One alone may be of a member that then heard nobody any more."""
        return any(member in pair and 2 * (last - first) >= self.limit_ns for pair, (first, last) in self.spans.items())

    @property
    def is_any_lasting(self) -> bool:
        """Was any complaint repeated?"""
        return any(2 * (last - first) >= self.limit_ns for first, last in self.spans.values())

    def ends(self, member: Address) -> list[Address]:
        """The other ends of its bad links."""
        return list(dict.fromkeys(other for pair in self.spans if member in pair for other in pair if other != member))

    def by(self, member: Address) -> list[Address]:
        """Return the members that this one does not hear."""
        return [about for by, about in self.spans if by == member]

    def on_complaint(self, now_ns: int, by: Address, about: Address) -> None:
        first, _ = self.spans.get((by, about), (now_ns, now_ns))
        self.spans[by, about] = (first, now_ns)

    def withdraw(self, by: Address, about: Address) -> None:
        self.spans.pop((by, about), None)

    def forgive(self, now_ns: int, slept_ns: int) -> None:
        """We slept ourselves: what was not repeated meanwhile may have been repeated."""
        for pair, (first, last) in self.spans.items():
            self.spans[pair] = (min(now_ns, first + slept_ns), min(now_ns, last + slept_ns))

    def culprits(self, now_ns: int, view: View, gone: Collection[Address] = ()) -> tuple[Address, ...]:
        """Return the members that have to go now, without those that are gone already."""
        self.forget(now_ns, view)
        if not any(last - first >= self.limit_ns for first, last in self.spans.values()):
            return ()
        members = tuple(member for member in view.members if member not in gone)
        question = (members, view.observers, tuple(self.spans))
        if self._judged is None or self._judged[0] != question:
            staying = dict.fromkeys(who_stays(members, view.observers, self.spans))
            self._judged = (question, tuple(member for member in members if member not in staying))
        return self._judged[1]

    def forget(self, now_ns: int, view: View) -> None:
        """What is no longer repeated, and what concerns members that are gone."""
        self.spans = {
            (by, about): (first, last)
            for (by, about), (first, last) in self.spans.items()
            if now_ns - last < self.forget_ns and by in view and about in view
        }


class Vouching:
    """What others want to know: who asked us whether we hear a member, and is owed an answer when we do.

    Bounded by the view: one question of each member about each other. A question that is older than the limit is
    forgotten; the asker puts it again.
    """

    def __init__(self, limit_ns: int) -> None:
        self.limit_ns = limit_ns
        self.asked: dict[Address, dict[Address, int]] = {}  # about whom -> who asked, and when; looked at per packet

    def note(self, now_ns: int, asker: Address, peer: Address) -> None:
        self.asked.setdefault(peer, {})[asker] = now_ns

    def take(self, now_ns: int, peer: Address) -> list[Address]:
        """This peer was heard: whom to tell."""
        askers = self.asked.pop(peer, {})
        return [asker for asker, asked_ns in askers.items() if now_ns - asked_ns <= self.limit_ns]

    def on_view(self, view: View) -> None:
        self.asked = {peer: askers for peer, askers in self.asked.items() if peer in view}
