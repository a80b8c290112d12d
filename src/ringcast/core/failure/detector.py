"""Who of the members is dead, by silence or standstill; never by one sign alone.

Anything heard from a peer shows that it lives. Silence leads to a direct question, then to the question put to a few
others whether they hear it, and only if nobody does to suspicion; two unanswered roll calls are that question put
twice. Suspicion is level-triggered: raised again until a view excludes the peer or the suspicion is cleared, so that
discarding it once never matters. What one member finds out is told to the others, and each of them sees for itself
before it believes. Who lives, but is not heard by everybody, is a complaint (health.py).

Cost: a member watches `watch_peers` others, whatever the size of the group; more only while somebody is suspected.
A member that slept itself (suspended, blocked loop) suspects nobody for what it did not hear meanwhile.
Not here: what a suspicion leads to is the view handler's.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from functools import partial
from typing import Protocol

from ringcast.core.control import AreYouThere, AskAbout, Heard, Suspicion, Unheard
from ringcast.core.deadlines import Deadlines
from ringcast.core.effects import send_once
from ringcast.core.failure.apart import Apart
from ringcast.core.failure.health import Complaints, Health, Reason, Vouching, calm_until_ns
from ringcast.core.failure.heartbeats import Heartbeats, watched, watchers
from ringcast.core.failure.readmission import Readmission
from ringcast.core.failure.rows import Rows, Said, Words
from ringcast.core.failure.unacked import Unacked
from ringcast.core.steps import Steps, Then
from ringcast.model import Address, Config, Event, Kind, View, ViewId

WATCH_ALL = 32  # in a group of at most so many everybody watches everybody while two do not hear each other
HELPERS = 3  # are asked whether they hear a silent member


class Verdicts(Protocol):
    """The component that acts on suspicions."""

    def on_suspected(self, now_ns: int, peer: Address, reason: Reason, tell: tuple[Address, ...]) -> Steps:
        """Suspect this peer: said again until a view excludes it or the suspicion is cleared. Tell these members."""
        ...

    def on_cleared(self, peer: Address) -> Steps:
        """Withdraw the suspicion."""
        ...


class FailureDetector:
    def __init__(
        self,
        me: Address,
        config: Config,
        verdicts: Verdicts,
        deadlines: Deadlines | None = None,
        *,
        beats: bool = True,
    ) -> None:
        """`beats`: heartbeats are sent from here; else the driver sends them, from a thread of its own."""
        self.me = me
        self.config = config
        self._verdicts = verdicts
        self.deadlines = deadlines or Deadlines()
        self.timer = self.deadlines.timer()
        self.heartbeats = Heartbeats(config.heartbeat_ns, self.deadlines.timer(), is_own=beats)
        self.health: dict[Address, Health] = {}
        self.complaints = Complaints(config.suspect_after_ns, config.suspect_repeat_ns)
        self.vouching = Vouching(config.verify_ns)
        keep_ns = self.complaints.forget_ns
        self.readmission = Readmission(config.readmit_ns, config.readmit_max_ns, 2 * keep_ns)  # Said seldom: rows.py.
        self.rows = Rows(me, config.heartbeat_ns, keep_ns, config.frame_bytes, self.deadlines.timer())
        self.apart = Apart(config.heartbeat_ns, config.suspect_after_ns, self.deadlines.timer())
        self.given_up: Collection[Address] = ()  # whom membership suspects until the next view, alive or not
        self.unacked = Unacked(config.suspect_after_ns)
        self.awaited: Callable[[], Iterable[tuple[Address, int, int]]] = tuple  # who owes an ack: member, stream, acked
        self._missing: tuple[Address, ...] = ()  # members whose acks are missing
        self._watches_all = False
        self._look_ns = 0  # when acks and complaints are looked at again
        self._view: View | None = None
        self._watched: dict[Address, None] = {}  # an ordered set: members I watch now
        self._named: dict[Address, None] = {}  # watched because somebody asked for it (a merge leader)
        self._turned_ns: int | None = None
        self._well_ns = min(config.suspect_after_ns, config.stall_limit_ns)  # whoever was heard within it is well

    # ---- what others ask

    @property
    def suspects(self) -> tuple[Address, ...]:
        return tuple(peer for peer, health in self.health.items() if health.is_suspected)

    @property
    def slow(self) -> tuple[Address, ...]:
        return tuple(peer for peer, health in self.health.items() if health.is_slow)

    def is_suspected(self, peer: Address) -> bool:
        health = self.health.get(peer)
        return health is not None and health.is_suspected

    # ---- whom to watch

    def on_view(self, now_ns: int, view: View) -> Steps:
        """A view settles every suspicion of those it excludes."""
        for member in () if self._view is None else self._view.members:
            if member not in view and self.complaints.has_lasted(member) and not self._is_silent(member):
                self._hold_back(now_ns, member, view)
        for member in view.members if self.apart.links else ():
            self.apart.end(member)
        self.readmission.on_view(view.members)
        self.rows.on_view(view)
        self._missing = tuple(member for member in self._missing if member in view)
        self._view = view
        self.heartbeats.view = view.id
        kept = [m for m in dict.fromkeys([*view.members, *self._named]) if m != self.me]
        self.health = {m: self.health.get(m) or Health(now_ns, now_ns) for m in kept}
        for health in self.health.values():
            if health.doubt is Reason.REPORTED:
                health.trust()
        self.complaints.forget(now_ns, view)
        self.vouching.on_view(view)
        asked = self.watch_ring(now_ns)
        self._set_timer()
        beat_to = tuple(watchers(view.members, self.me, self.config.watch_peers))
        return [*self.heartbeats.beat_to(now_ns, beat_to), *asked]

    def _hold_back(self, now_ns: int, member: Address, view: View) -> None:
        """Keep out a member that goes because of its links, until they are good again or its delay is over."""
        assert self._view is not None
        causes = [cause for cause in self.complaints.ends(member) if cause in view]
        until_ns = self.readmission.on_excluded(now_ns, member, causes)
        if self.me in causes:
            self.apart.begin(now_ns, member, self._view.id, until_ns)
            self.readmission.on_links(now_ns, self.me, self.apart.links)
            self.rows.wake(now_ns)

    def on_echo(self, now_ns: int, peer: Address) -> None:
        """A process answered that was excluded for a bad link to us."""
        if self.apart.on_echo(now_ns, peer):
            self._release(now_ns, peer)

    def _release(self, now_ns: int, peer: Address) -> None:
        self.readmission.on_good(self.me, peer)
        self.rows.take_back(now_ns)

    def _is_silent(self, member: Address) -> bool:
        """Suspected, and as far as we know nobody hears it."""
        health = self.health.get(member)
        return health is not None and health.is_suspected and health.doubt is Reason.SILENT

    def watch(self, now_ns: int, peer: Address) -> None:
        """Also this one, member or not, until `unwatch`."""
        if peer != self.me:
            self._named.setdefault(peer)
            self.health.setdefault(peer, Health(now_ns, now_ns))
            self._wake(now_ns)
            self._set_timer()

    def unwatch(self, peer: Address) -> None:
        self._named.pop(peer, None)
        if self._view is None or peer not in self._view:
            self.health.pop(peer, None)
        self._set_timer()

    def watch_ring(self, now_ns: int) -> Steps:
        """The ring closes over suspects: as many as are suspected (at least the usual number) are watched beyond them,
        so that a stretch of dead members is uncovered in doubling steps of one question, not of one silence, each.
        Without suspects or bad links the watch of a member begins now: it had no reason to send heartbeats before."""
        assert self._view is not None
        ring = [m for m in self._view.members if not self._is_out(m)]
        suspects = len(self._view.members) - len(ring)
        places = watched(ring, self.me, max(self.config.watch_peers, suspects))
        leader = self._view.leader(self._is_out) if suspects else None
        if leader is not None:  # whom we follow, wherever it stands
            places.append(leader)
        further = self._also_watched()
        places += further
        before, self._watched = self._watched, {peer: None for peer in places if peer != self.me}
        self._wake(now_ns)
        fresh = [peer for peer in self._watched if peer not in before]
        if suspects or further:
            return [order for peer in fresh for order in self._question_unheard(now_ns, peer)]
        for peer in fresh:
            self.health[peer].begin(now_ns)
        return []

    def _also_watched(self) -> list[Address]:
        """Members that are watched for a link that may be bad: all, or those with missing acks and those who ask."""
        assert self._view is not None
        if self._watches_all:
            return [member for member in self._view.members if member != self.me]
        asking = [member for member, row in self.rows.known.items() if self.me in row.words.wanted]
        return [member for member in (*self._missing, *asking) if member in self._view and member != self.me]

    def _look_for_bad_links(self, now_ns: int) -> Steps:
        """Where each watches a few others only, look wider while two do not hear each other or acks are missing."""
        view = self._view
        if view is None or len(view.members) - 1 <= self.config.watch_peers or now_ns < self._look_ns:
            return []
        self._look_ns = now_ns + self.config.heartbeat_ns
        missing = self.unacked.look(now_ns, self.awaited())
        watches_all = len(view.members) <= WATCH_ALL and self.complaints.is_any_lasting
        if missing == self._missing and watches_all == self._watches_all:
            return []
        self._missing, self._watches_all = tuple(m for m in missing if m in view), watches_all
        self.rows.wake(now_ns)
        return self.watch_ring(now_ns)

    def _is_out(self, member: Address) -> bool:
        return self.is_suspected(member) or member in self.given_up

    def _question_unheard(self, now_ns: int, peer: Address) -> Steps:
        """Ask a member of whom nobody sends us heartbeats regularly; not if it was heard just now."""
        health = self.health[peer]
        if health.doubt is not None or now_ns - health.heard_ns < self.config.suspect_after_ns // 2:
            return []
        return self._question(now_ns, peer, Reason.SILENT, told=True)

    # ---- signs of life

    def on_heard(self, now_ns: int, peer: Address) -> Steps:
        """Any packet of this peer arrived."""
        health = self.health.get(peer)
        if health is None:
            return []
        health.heard_ns = now_ns
        if health.doubt is None and not health.is_unheard and peer not in self.vouching.asked:
            return []
        out: Steps = []
        if health.is_unheard:
            health.is_unheard = False
            self.complaints.withdraw(self.me, peer)
            self.rows.take_back(now_ns)
            out += [send_once(member, Heard(peer)) for member in self._others(peer)]
        if peer in self.vouching.asked:
            out += [send_once(asker, Heard(peer)) for asker in self.vouching.take(now_ns, peer)]
        out += self._trust(now_ns, peer) if health.doubt is Reason.SILENT else []
        self._set_timer()
        return out

    def on_heartbeat(self, now_ns: int, peer: Address, progress: int, view: ViewId | None = None) -> Steps:
        """A heartbeat, or an answer to the direct question; both tell how far the peer's core loop has come."""
        if peer in self.apart.links and self.apart.on_heartbeat(now_ns, peer, view):
            self._release(now_ns, peer)
        health = self.health.get(peer)
        if health is None:
            return []
        out: Steps = []
        was_well = health.doubt is None
        if health.note_progress(now_ns, progress):
            health.is_slow = False
            if health.doubt is Reason.STALLED:
                out += self._trust(now_ns, peer)
        out += self.on_heard(now_ns, peer)
        is_own_turn = self._turned_ns is not None and self.timer.at_ns == self._turned_ns + self.config.heartbeat_ns
        if not (was_well and is_own_turn):  # else nobody's silence is due first, and hearing only puts it off
            self._set_timer()
        return out

    def _trust(self, now_ns: int, peer: Address) -> Steps:
        health = self.health[peer]
        was_suspected = health.is_suspected
        if was_suspected and health.doubt is Reason.SILENT:
            self.rows.take_back(now_ns)
        health.trust()
        if not was_suspected:
            return []
        return [self._cleared(peer), *(self.watch_ring(now_ns) if self._view is not None else [])]

    # ---- signs of death

    def suspect(self, now_ns: int, peer: Address) -> Steps:
        """Somebody outside says that it is dead. No packet clears that; a view settles it."""
        health = self.health.get(peer)
        out = [] if health is None or health.is_suspected else self._suspect(now_ns, peer, Reason.REPORTED)
        self._set_timer()
        return out

    def on_unreachable(self, now_ns: int, peer: Address) -> Steps:
        """Control messages to this peer pile up unanswered: ask it."""
        health = self.health.get(peer)
        out = [] if health is None or health.doubt is not None else self._question(now_ns, peer, Reason.SILENT)
        self._set_timer()
        return out

    def on_told(self, now_ns: int, by: Address, suspects: Iterable[Address]) -> Steps:
        """Another member suspects these. We see for ourselves, and if we hear them it is a complaint."""
        if self._view is None or by not in self._view:
            return []
        out: Steps = []
        for peer in suspects:
            if peer == self.me:  # A complaint about ourselves counts like any other.
                out.append(send_once(by, self.heartbeats.heartbeat()))
                self.complaints.on_complaint(now_ns, by, peer)
            elif peer in self._view and peer != by and not self._is_gone(peer):
                self.complaints.on_complaint(now_ns, by, peer)
                out += self._question_unheard(now_ns, peer)
        self._set_timer()
        return out

    def _is_gone(self, peer: Address) -> bool:
        """It has left us, or we do not hear it either: nobody has to choose between it and who complains."""
        health = self.health[peer]
        return peer in self.given_up or (health.is_suspected and health.doubt is not Reason.UNHEARD)

    # ---- what others hear

    def on_asked_about(self, now_ns: int, asker: Address, peer: Address) -> Steps:
        """A member does not hear this one. If we do not know it just now, we ask, and answer when we hear it."""
        if self._view is None or asker not in self._view or peer == asker:
            return []
        if peer == self.me:
            return [send_once(asker, self.heartbeats.heartbeat())]
        health = self.health.get(peer)
        if health is None or peer in self.given_up:  # It may live, but no longer in the view that the asker has.
            return []
        if now_ns - health.heard_ns < self.config.heartbeat_ns:
            return [send_once(asker, Heard(peer))]
        self.vouching.note(now_ns, asker, peer)
        return [send_once(peer, AreYouThere())]

    def on_vouched(self, now_ns: int, by: Address, peer: Address) -> Steps:
        """That member hears this one, so it has nothing to complain of; if we do not hear it, only we do not."""
        self.complaints.withdraw(by, peer)
        return self._vouch(now_ns, by, peer)

    def _vouch(self, now_ns: int, by: Address, peer: Address) -> Steps:
        """This peer lives, as we know from that member."""
        health = self.health.get(peer)
        if health is None or health.doubt is None or self._view is None or by not in self._view or by == peer:
            return []
        health.vouched_ns = now_ns
        if health.doubt is not Reason.SILENT or not health.is_suspected or peer not in self._view:
            return []
        out = self._complain(now_ns, peer)  # It came late: we had suspected it by then.
        health.is_suspected = False
        out += [self._cleared(peer), *self.watch_ring(now_ns)]
        self._set_timer()
        return out

    # ---- what everybody says of whom it does not hear

    def on_rows(self, now_ns: int, sender: Address, message: Unheard) -> Steps:
        """Rows of members: each is a list of complaints, and shows that its owner lives."""
        if self._view is None:
            return []
        out: Steps = []
        for said in self.rows.on_said(now_ns, sender, message, self._is_heard_directly):
            out += self._on_row(now_ns, sender, said)
        self._set_timer()
        return out

    def _on_row(self, now_ns: int, sender: Address, said: Said) -> Steps:
        owner, words = said.owner, said.words
        out = self._vouch(now_ns, sender, owner)
        for peer in self.complaints.by(owner):
            if peer not in words.unheard:
                self.complaints.withdraw(owner, peer)
        for peer in words.unheard:
            if peer == self.me:
                out.append(send_once(owner, self.heartbeats.heartbeat()))
                self.complaints.on_complaint(now_ns, owner, peer)
            elif not self._is_gone(peer):
                self.complaints.on_complaint(now_ns, owner, peer)
                out += self._question_unheard(now_ns, peer)
        if self.me in words.unheard or not self._is_heard_directly(owner):
            out += self._vouch_by_row(now_ns, owner, words)
        self.readmission.on_links(now_ns, owner, words.apart)
        if (self.me in words.wanted) != (self.me in said.before.wanted):
            out += self.watch_ring(now_ns)
        return out

    def _vouch_by_row(self, now_ns: int, owner: Address, words: Words) -> Steps:
        """Take the row of a member as its answers about others, because the link to ask it is bad."""
        assert self._view is not None
        out: Steps = []
        for peer in watched(self._view.members, owner, self.config.watch_peers):
            hears = peer not in words.unheard and peer not in words.gone
            if hears and peer != self.me and self.health[peer].doubt is not None:
                out += self._vouch(now_ns, owner, peer)
        return out

    def _is_heard_directly(self, peer: Address) -> bool:
        """True if this peer is watched and heard, so that its own row comes from itself."""
        health = self.health.get(peer)
        if health is None or peer not in self._watched:
            return False
        return not health.is_unheard and health.doubt is not Reason.SILENT

    def _own_words(self) -> Words:
        assert self._view is not None
        others = [member for member in self._view.members if member != self.me]
        unheard = tuple(member for member in others if self.health[member].is_unheard or self._is_silent(member))
        gone = tuple(member for member in others if member in self.given_up)
        return Words(unheard, self._missing, gone, tuple(self.apart.links))

    def _say_rows(self, now_ns: int) -> Steps:
        if self._view is None or not self.rows.timer.is_due(now_ns):
            return []
        message = self.rows.say(now_ns, self._own_words())
        if self.apart.links:
            self.readmission.on_links(now_ns, self.me, self.apart.links)
        if message is None:
            return []
        to = watchers(self._view.members, self.me, self.config.watch_peers)
        return [send_once(member, message) for member in to]

    def _ask_others(self, peer: Address) -> Steps:
        """First those who hear its heartbeats anyway."""
        if self._view is None or peer not in self._view:
            return []
        near = watchers(self._view.members, peer, self.config.watch_peers)
        able = [m for m in dict.fromkeys([*near, *self._view.members]) if m not in (self.me, peer)]
        helpers = [m for m in able if self.health[m].doubt is None][:HELPERS]
        return [send_once(helper, AskAbout(peer)) for helper in helpers]

    def _complain(self, now_ns: int, peer: Address) -> Steps:
        health = self.health[peer]
        if not health.is_unheard:
            self.rows.wake(now_ns)
        health.is_unheard, health.complained_ns = True, now_ns
        self.complaints.on_complaint(now_ns, self.me, peer)
        return [send_once(member, Suspicion((peer,))) for member in self._others(peer)]

    def _examine_unheard(self, now_ns: int, peer: Address, health: Health) -> Steps:
        """We do not hear it, others do. Said again as long as that is so; else it is silent like any other."""
        config = self.config
        if now_ns - health.complained_ns < config.suspect_repeat_ns:
            return []
        if health.vouched_ns is None or now_ns - health.vouched_ns > config.suspect_repeat_ns + config.verify_ns:
            health.is_unheard = False
            self.complaints.withdraw(self.me, peer)
            return [] if health.is_suspected else self._suspect(now_ns, peer, Reason.SILENT)
        return [*self._complain(now_ns, peer), send_once(peer, AreYouThere()), *self._ask_others(peer)]

    def _question(self, now_ns: int, peer: Address, reason: Reason, *, told: bool = False) -> Steps:
        self.health[peer].doubt_it(now_ns, reason, told=told)
        self._wake(now_ns)
        return [send_once(peer, AreYouThere())]

    def _suspect(self, now_ns: int, peer: Address, reason: Reason) -> Steps:
        health = self.health[peer]
        is_first = not health.is_suspected
        health.suspect(now_ns, reason)
        if is_first and reason is Reason.SILENT and self._view is not None and peer in self._view:
            self.rows.wake(now_ns)
        # Who found out tells everybody; who was told, or repeats it, tells only whoever has to act. Everybody finds out
        # by itself what complaints lead to.
        tell = self._others(peer) if is_first and not health.was_told else self._acting()
        tell = () if reason is Reason.UNHEARD else tell
        event = Event(Kind.SUSPECT, now_ns, peer=peer, detail={"why": str(reason), "first": is_first})
        # Deferred, because what follows may end our watch of a peer while `on_time` goes through all of them.
        out: Steps = [event, Then(partial(self._verdicts.on_suspected, now_ns, peer, reason, tell))]
        if is_first and self._view is not None and peer in self._view:
            out += self.watch_ring(now_ns)
        return out

    def _cleared(self, peer: Address) -> Then:
        """Withdraw the suspicion. Deferred, because a suspicion that was found before it is, too."""
        return Then(partial(self._verdicts.on_cleared, peer))

    def _others(self, suspect: Address) -> tuple[Address, ...]:
        if self._view is None or suspect not in self._view:
            return ()
        return tuple(m for m in self._view.members if m != self.me and not self.is_suspected(m))

    def _acting(self) -> tuple[Address, ...]:
        """The first member that may coordinate and is not suspected, unless that is ourselves."""
        if self._view is None:
            return ()
        acting = self._view.leader(self.is_suspected)
        return () if acting is None or acting == self.me else (acting,)

    # ---- time

    def _wake(self, now_ns: int) -> None:
        if self._turned_ns is None:
            self._turned_ns = now_ns

    def _attended(self) -> Iterable[Address]:
        doubted = [peer for peer, health in self.health.items() if health.doubt is not None]
        if not doubted and not self._named:
            return self._watched
        return dict.fromkeys([*self._watched, *self._named, *doubted])

    def _set_timer(self) -> None:
        """At least once in a heartbeat interval, so that our own loop turns; an early deadline does no harm."""
        if self._turned_ns is None or not self.health:
            self.timer.at_ns = None
            return
        first_ns = self._turned_ns + self.config.heartbeat_ns
        for peer in self._attended():
            due_ns = self.health[peer].due_ns(self.config)
            if due_ns < first_ns:
                first_ns = due_ns
        self.timer.at_ns = first_ns

    def on_time(self, now_ns: int) -> Steps:
        out = self._examine_all(now_ns)
        asked = self.apart.on_time(now_ns) if self.apart.links else []
        return [*out, *self._look_for_bad_links(now_ns), *self._say_rows(now_ns), *asked]

    def _examine_all(self, now_ns: int) -> Steps:
        if self._turned_ns is not None and now_ns - self._turned_ns > 2 * self.config.heartbeat_ns:
            self._forgive_own_sleep(now_ns, now_ns - self._turned_ns - self.config.heartbeat_ns)
        self._turned_ns = now_ns
        if self._view is not None and not self._named and not self.complaints.spans and not self.given_up:
            calm_ns = calm_until_ns(now_ns, self.health, self._watched, self._well_ns, self.config)
            if calm_ns is not None:
                self.timer.at_ns = calm_ns
                return []
        out = self._settle_complaints(now_ns)
        if self.given_up and self._view is not None:
            out += self.watch_ring(now_ns)
        since_ns = now_ns - self._well_ns
        for peer in list(self._attended()):
            health = self.health[peer]
            if not health.is_well(since_ns):
                out += self._examine(now_ns, peer, health)
        self._set_timer()
        return out

    def _forgive_own_sleep(self, now_ns: int, slept_ns: int) -> None:
        for health in self.health.values():
            health.forgive(now_ns, slept_ns)
        self.complaints.forgive(now_ns, slept_ns)
        self.unacked.forgive(now_ns, slept_ns)

    def _examine(self, now_ns: int, peer: Address, health: Health) -> Steps:
        config = self.config
        unheard = self._examine_unheard(now_ns, peer, health) if health.is_unheard else []
        if health.is_suspected:
            assert health.doubt is not None
            if now_ns - health.since_ns < config.suspect_repeat_ns:
                return unheard
            return [*unheard, *self._suspect(now_ns, peer, health.doubt), send_once(peer, AreYouThere())]
        if health.is_unheard:
            return unheard
        if health.doubt is not None:
            return self._await_answer(now_ns, peer, health, health.doubt)
        if now_ns - health.heard_ns >= config.suspect_after_ns:
            return self._question(now_ns, peer, Reason.SILENT)
        return [] if health.progress is None else self._examine_progress(now_ns, peer, health)

    def _await_answer(self, now_ns: int, peer: Address, health: Health, doubt: Reason) -> Steps:
        if now_ns - health.since_ns >= self.config.verify_ns:
            is_heard_by_others = doubt is Reason.SILENT and health.vouched_ns is not None
            return self._complain(now_ns, peer) if is_heard_by_others else self._suspect(now_ns, peer, doubt)
        if now_ns - health.asked_ns > self.config.verify_ns // 2:
            health.asked_ns = now_ns
            again: Steps = [send_once(peer, AreYouThere())]  # The first question may have been lost.
            return again + self._ask_others(peer) if doubt is Reason.SILENT else again
        return []

    def _examine_progress(self, now_ns: int, peer: Address, health: Health) -> Steps:
        still_ns = now_ns - health.progressed_ns
        if still_ns >= self.config.stall_limit_ns:
            return self._question(now_ns, peer, Reason.STALLED)
        health.is_slow = still_ns >= self.config.suspect_after_ns
        return []

    def _settle_complaints(self, now_ns: int) -> Steps:
        """Both ends of a complaint live: if it lasts, one of them is suspected, until the complaint ends."""
        if self._view is None:
            return []
        culprits: tuple[Address, ...] = ()
        if self.complaints.spans:
            gone = dict.fromkeys(m for m in self._view.members if m in self.given_up or self._is_silent(m))
            culprits = self.complaints.culprits(now_ns, self._view, gone)
        out: Steps = []
        unheard = Reason.UNHEARD
        for peer, health in self.health.items():
            if health.doubt is unheard and peer not in culprits:
                out += self._trust(now_ns, peer)
        for culprit in culprits:
            if culprit != self.me and not self.health[culprit].is_suspected:
                out += self._suspect(now_ns, culprit, Reason.UNHEARD)
        return out
