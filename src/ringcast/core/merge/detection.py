"""Notices that the group is split, and raises the seed's MERGE event where the leader is.

Members announce their view id; whoever acts as coordinator collects what differs for a moment, then reads the real
views, because a view on its way looks like a split (what seed 004 wants to avoid), and raises MERGE only for what is
still different and cannot be a view in flight. Everything repeats, so nothing that is lost or discarded matters.

    its real view is ours                      agreed
    we are in it, and it is newer              we are behind; the view is on its way to us, and a member before us
                                               that has it speaks for us meanwhile
    it is a member of ours, its view is older  it is behind: given our view, after `view_limit` suspected although alive
    anything else                              split

Not here: the merge itself (leader.py), what being excluded leads to (the node, by its policy).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Protocol

from ringcast.core.control import AreYouThere, AskView, Sighted
from ringcast.core.deadlines import Deadlines
from ringcast.core.effects import SendReliable, send_once
from ringcast.core.entrance import RandomSource
from ringcast.core.merge.election import Party, choose_leader, parties_of
from ringcast.core.merge.elsewhere import primary_elsewhere
from ringcast.core.merge.sightings import Dissent, Lag, Outsiders, Rereading, Sighting, Sightings
from ringcast.core.steps import Steps, Then, Until
from ringcast.model import Address, Config, Electorate, View, ViewId

ASKED_PER_VIEW = 2
CALLED_TOGETHER = 64


class Finder(Protocol):
    """The component that acts on what detection finds."""

    def announce_to(self, endpoints: tuple[str, ...]) -> Steps:
        """Tell our view id to the processes at these endpoints."""
        ...

    def raise_merge(self, now_ns: int, parties: Sequence[Party]) -> Steps:
        """Raise the seed's MERGE event: there are other partitions, and we are to lead."""
        ...

    def go_to_primary(self, view: View, primary: Electorate) -> Steps:
        """Send our members to the side with this view, which proves that this later primary view came about."""
        ...

    def left_behind(self, now_ns: int, view: View) -> Steps:
        """Our coordinator (or every other member, if we coordinate) goes on in this view, without us."""
        ...

    def suspect(self, now_ns: int, member: Address, why: str, until: Until = Until.VIEW) -> Steps: ...

    def shown(self, now_ns: int, member: Address) -> Steps:
        """This member has shown our view."""
        ...

    def give_view(self, to: Address) -> Steps:
        """Send our view to a member that is behind."""
        ...


class MergeDetector:
    """Detection of splits: which other views there are, and what follows from them."""

    def __init__(
        self,
        me: Address,
        config: Config,
        random: RandomSource,
        finder: Finder,
        deadlines: Deadlines | None = None,
        *,
        is_suspected: Callable[[Address], bool] = lambda member: False,
        is_held: Callable[[int, Address], bool] = lambda now_ns, member: False,
    ) -> None:
        """`is_held`: it was excluded for a bad link, and is not to come back yet."""
        self.me = me
        self.config = config
        self._is_suspected = is_suspected
        self._is_held = is_held
        self._finder = finder
        self.outsiders = Outsiders(config.known_peers)
        self.sightings = Sightings(config.known_peers)
        self._random = random
        self._view: View | None = None
        self._inside: dict[str, None] = {}  # endpoints of our view
        self.agreed: dict[Address, None] = {}  # members that have announced our view
        self._dissent = Dissent(config.view_limit_ns, config.suspect_repeat_ns)
        self._passed_on: dict[ViewId | Address, int] = {}
        self._rereading: Rereading | None = None
        self.deadlines = deadlines or Deadlines()
        self._check = self.deadlines.timer()  # when real views are read; not while they are
        self._answers = self.deadlines.timer()  # until when they are awaited
        self._announce = self.deadlines.timer()
        self._nudged: tuple[Address, int] | None = None  # a leader that does not act, and since when

    # ---- what we know of others

    def on_view(self, now_ns: int, view: View, left: Iterable[Address] = ()) -> None:
        """A view was installed here. `left` went of their own accord; others that are gone may come back."""
        lost = () if self._view is None else tuple(m for m in self._view.members if m not in view)
        self._view = view
        self._inside = {member.endpoint: None for member in view.members}
        for member in lost:
            self.outsiders.remember(member.endpoint)
        for member in left:
            self.outsiders.forget(member.endpoint, now_ns + self.config.resumer_ns)
            self.sightings.drop(member)
        for member in view.members:
            self.sightings.drop(member)
        self.agreed, self._nudged, self._rereading, self._answers.at_ns = {}, None, None, None
        self._dissent.clear()
        self._passed_on.clear()
        self._check.at_ns = now_ns + self.config.merge_gather_ns if len(self.sightings) else None
        if self._announce.at_ns is None:
            self._announce.at_ns = now_ns + int(self.config.announce_ns * self._random.random())

    def on_found(self, endpoints: Iterable[str]) -> None:
        """Discovery knows of these places."""
        for endpoint in endpoints:
            if endpoint != self.me.endpoint:
                self.outsiders.find(endpoint)

    def on_announcement(self, now_ns: int, peer: Address, view_id: ViewId, coordinator: Address | None = None) -> Steps:
        """A peer told its view id: in an announcement or a heartbeat."""
        mine = self._view
        if mine is None or peer == self.me:
            return []
        if view_id == mine.id:
            return self._agree(now_ns, peer) if peer in mine else []
        if view_id < mine.id and peer in self.agreed:
            return []  # Ids only grow at a member (G4): this was overtaken by what has shown our view.
        self.agreed.pop(peer, None)
        lag = self._dissent.note(now_ns, peer) if peer in mine else Lag.WAIT
        if view_id < mine.id and peer in mine:
            return self._on_lag(now_ns, peer, lag, Sighting(view_id, coordinator))
        # Are we in that view, and have not got it yet? If not it says so, though we would never be sent its heartbeats.
        out: Steps = [] if lag is Lag.WAIT else [send_once(peer, AreYouThere())]
        if lag is Lag.OVERDUE:  # It may not hear us; in time such a view would have come here.
            out += self._finder.suspect(now_ns, peer, "has another view", Until.SHOWN)
        return out + self._sight(now_ns, peer, Sighting(view_id, coordinator))

    def _on_lag(self, now_ns: int, peer: Address, lag: Lag, sighting: Sighting) -> Steps:
        """Whoever acts brings it up or excludes it, and may not hear it itself: few are sent its heartbeats."""
        if lag is Lag.WAIT:
            return []
        told = [] if self.acting == self.me else self._pass_on(now_ns, self.acting, peer, sighting)
        if lag is Lag.OVERDUE:
            return [*self._finder.suspect(now_ns, peer, "has another view", Until.SHOWN), *told]
        # Who comes from another side is told by its own coordinator, with the cut of that side.
        is_ours = self._view is not None and not self._view.joins(self.me, peer)
        return self._finder.give_view(peer) if is_ours and self.acting == self.me else told

    def on_sighted(self, now_ns: int, by: Address, sighted: Sighted) -> Steps:
        """A member of ours heard an outsider, and holds us for the one who acts."""
        if self._view is None or by not in self._view or self.acting != self.me:
            return []
        return self.on_announcement(now_ns, sighted.peer, sighted.view, sighted.coordinator)

    def on_shown(self, peer: Address) -> None:
        """A member has shown our view, in whatever way."""
        if self._view is not None and peer in self._view:
            self._note_agreed(peer)

    def _agree(self, now_ns: int, peer: Address) -> Steps:
        is_new = peer not in self.agreed
        self._note_agreed(peer)
        return self._finder.shown(now_ns, peer) if is_new else []

    def _note_agreed(self, peer: Address) -> None:
        self.agreed[peer] = None
        self._dissent.drop(peer)
        self.sightings.drop(peer)

    def _sight(self, now_ns: int, peer: Address, sighting: Sighting) -> Steps:
        assert self._view is not None
        is_news = not self.sightings.has_view(sighting.view)
        if not self.sightings.note(peer, sighting):
            return []
        self.outsiders.remember(peer.endpoint)
        acting = self.acting
        if acting != self.me and peer != self._coordinator:
            return self._pass_on(now_ns, acting, peer, sighting)
        return self._gather(now_ns, sighting.coordinator or peer) if is_news else self._check_soon(now_ns)

    def _gather(self, now_ns: int, coordinator: Address) -> Steps:
        """A lower coordinator will lead: tell it of us. Else call others, so that one merge finds all partitions."""
        out: Steps = []
        if coordinator < self.me:
            out = [self._announce_to((coordinator.endpoint,))]
        elif self._check.at_ns is None and self._rereading is None:
            out = [self._announce_to(self.outsiders.next_in_turn(CALLED_TOGETHER, self._inside))]
        return out + self._check_soon(now_ns)

    def _announce_to(self, endpoints: tuple[str, ...]) -> Then:
        """Announce our view. Deferred, so that it names the coordinator that follows from what was found before it."""
        return Then(partial(self._finder.announce_to, endpoints))

    def _check_soon(self, now_ns: int) -> Steps:
        if self._check.at_ns is None and self._rereading is None:
            self._check.at_ns = now_ns + self.config.merge_gather_ns
        return []

    def _leader(self, is_out: Callable[[Address], bool]) -> Address:
        """Return who leads our view; ourselves, if nobody else is left."""
        assert self._view is not None
        return self._view.leader(is_out) or self.me

    def _is_gone(self, member: Address) -> bool:
        return member in self._dissent or self._is_suspected(member)

    @property
    def acting(self) -> Address:
        """The leader of those who are not suspected and have not gone to another view."""
        return self._leader(self._is_gone)

    @property
    def _coordinator(self) -> Address:
        """The leader of those who are not suspected, also if it has gone to another view."""
        return self._leader(self._is_suspected)

    @property
    def coordinator_with_us(self) -> Address:
        """The member that speaks for us in a merge: the leader of those who have shown our view, as we have."""
        return self._leader(lambda m: self._is_gone(m) or not (m in self.agreed or m == self.me))

    def _pass_on(self, now_ns: int, acting: Address, peer: Address, sighting: Sighting) -> Steps:
        """Once per view and interval: many of us may hear the same outsiders. Members are brought up one by one."""
        key = peer if self._view is not None and peer in self._view else sighting.view
        if now_ns < self._passed_on.get(key, now_ns):
            return []
        if len(self._passed_on) >= self.config.known_peers:
            self._passed_on.clear()
        self._passed_on[key] = now_ns + self.config.announce_ns
        return [SendReliable(acting, Sighted(peer, sighting.view, sighting.coordinator))]

    # ---- reading the real views

    def _reread(self, now_ns: int) -> Steps:
        self._check.at_ns = None
        asked = self._whom_to_ask(now_ns)
        if not asked:
            return []
        self._rereading = Rereading()
        self._answers.at_ns = now_ns + self.config.reread_ns
        return [send_once(peer, AskView()) for peer in asked if self._rereading.ask(peer)]

    def _whom_to_ask(self, now_ns: int) -> list[Address]:
        """Who will lead reads all views; who sees a lower coordinator reads that one's only, and will announce itself.

        So the reads of all partitions together grow with their number, not with its square.
        """
        assert self._view is not None
        lowest = min(self.sightings.coordinators(), default=self.me)
        asked = self.sightings.whom_to_ask(ASKED_PER_VIEW)
        if lowest < self.me and not self._is_idle_leader(now_ns, lowest):
            asked = [lowest, *(peer for peer in asked if peer in self._view)]
        return [peer for peer in asked if peer != self.me]

    def on_view_answer(self, now_ns: int, peer: Address, view: View, acting: Address | None = None) -> Steps:
        rereading, mine = self._rereading, self._view
        if rereading is None or mine is None or not rereading.on_answer(peer, view, acting):
            return []
        out = self._agree(now_ns, peer) if view.id == mine.id and peer in mine else []
        coordinator = view.coordinator
        if view.id != mine.id and coordinator is not None and coordinator != self.me and rereading.ask(coordinator):
            out.append(send_once(coordinator, AskView()))  # It must be alive to speak for its members.
        return out + self._conclude(now_ns) if rereading.is_complete else out

    def _is_split(self, mine: View, peer: Address, view: View) -> bool:
        if view.id == mine.id:
            return False
        return not self._is_on_its_way(mine, view) and not (peer in mine and view.id < mine.id)

    def _is_on_its_way(self, mine: View, view: View) -> bool:
        return self.me in view and view.id > mine.id

    def _conclude(self, now_ns: int) -> Steps:
        """All have answered, or time is up: what is really different?"""
        rereading, mine = self._rereading, self._view
        assert rereading is not None and mine is not None
        self._rereading, self._answers.at_ns = None, None
        split = {peer: view for peer, view in rereading.answers.items() if self._is_split(mine, peer, view)}
        for peer in [*rereading.silent, *(peer for peer in rereading.answers if peer not in split)]:
            self.sightings.drop(peer)
        self._check.at_ns = now_ns + self.config.announce_ns if len(self.sightings) else None
        for view in split.values():
            for member in view.members:
                if member != self.me:
                    self.outsiders.remember(member.endpoint)
        if not split:
            return []
        # Who gives up its place for a side that nobody leads would come back to nothing, and see the same again.
        led = [view for peer, view in split.items() if rereading.is_led(peer)]
        elsewhere = primary_elsewhere(self.me, mine, led, is_led=self._coordinator not in mine.observers)
        if elsewhere is not None:
            return self._finder.go_to_primary(*elsewhere) if self.coordinator_with_us == self.me else []
        # Who is primary waits for the others to come; sides that are not merge, also with one that is out of date.
        is_primary = mine.mark is not None and mine.is_primary
        further = self._departed(now_ns, mine, split) if is_primary else self._raise(now_ns, mine, split, rereading)
        return self._exclusion(now_ns, mine, split) + further

    def _departed(self, now_ns: int, mine: View, split: dict[Address, View]) -> Steps:
        """No merge brings back who left our primary view for one of its own: it goes from ours first, then it comes."""
        if self.acting != self.me:
            return []
        gone = _without_us(mine, split)
        why = {peer: f"is in {view.id}, without this member" for peer, view in gone.items()}
        # Deferred, because the exclusion that was found with it is judged in the same state.
        return [Then(partial(self._finder.suspect, now_ns, peer, why[peer])) for peer in gone]

    def _exclusion(self, now_ns: int, mine: View, split: dict[Address, View]) -> Steps:
        """Who coordinates us, others being dead, in a later view without us; or, if we do, everybody else in such."""
        without_us = _without_us(mine, split).values()
        coordinator = self._coordinator
        others = [coordinator] if coordinator != self.me else [m for m in mine.members if m != self.me]
        gone = all(any(member in view for view in without_us) for member in others)
        if not without_us or not gone:
            return []
        return self._finder.left_behind(now_ns, max(without_us, key=lambda view: view.id))

    def _raise(self, now_ns: int, mine: View, split: dict[Address, View], rereading: Rereading) -> Steps:
        if self.acting != self.me or not split:
            return []
        if self._is_counted_in(mine, rereading):
            self._check.at_ns = now_ns + self.config.merge_gather_ns
            return []
        silent = rereading.silent
        views = self._views(mine, split, silent)
        leader, idle = choose_leader(views), None
        if leader != self.me and self._is_idle_leader(now_ns, leader):
            idle = views[leader].id
            leader = choose_leader({peer: view for peer, view in views.items() if view.id != idle})
        if leader != self.me:
            return self._nudge(now_ns, leader)
        # Members of our own view were asked only if somebody named them: we speak for it, whether they answered or not.
        # Of all views, also that of an idle leader: its members are in no other party (`A: AB, B: AB, D: ABD`).
        every = parties_of(views, silent, {peer: who for peer, who in rereading.acting.items() if peer in split})
        found = [party for party in every if party.view.id != idle]
        # One alone that does not hear a coordinator would be excluded again as soon as it was merged with it.
        is_alone = all(len(party.members) == 1 for party in found if self.me in party.members)
        reached = (party for party in found if party.via is None or not is_alone)
        parties = tuple(party for party in reached if not self._is_kept_out(now_ns, party))
        # Deferred, because an exclusion that was found with it comes first, and may end this member's place.
        return [Then(partial(self._finder.raise_merge, now_ns, parties))] if len(parties) > 1 else []

    def _is_counted_in(self, mine: View, rereading: Rereading) -> bool:
        """A member before us has announced another view: has it gone without us? Not before that view was read."""
        before = mine.members[: mine.members.index(self.me)]
        for member in before:
            if member not in self._dissent or member in mine.observers or self._is_suspected(member):
                continue
            view = rereading.answers.get(member)
            if view is None and member not in rereading.silent:
                return True
            if view is not None and self._is_on_its_way(mine, view):
                return True
        return False

    def _is_kept_out(self, now_ns: int, party: Party) -> bool:
        """Nobody of it may come back yet. If anybody may, all of them do: it is a partition, not a bad link."""
        return all(self._is_held(now_ns, member) for member in party.members)

    def _views(self, mine: View, split: dict[Address, View], silent: tuple[Address, ...]) -> dict[Address, View]:
        """Whose view is which: our own, those read, and those announced whose content was read from another."""
        views = {self.me: mine} | dict.fromkeys(self.agreed, mine) | split
        content = {view.id: view for view in split.values()}
        for peer, sighting in self.sightings.items():
            view = content.get(sighting.view)
            if view is not None and peer in view and peer not in views and self._is_split(mine, peer, view):
                views[peer] = view
        return {peer: view for peer, view in views.items() if peer not in silent}

    def _is_idle_leader(self, now_ns: int, leader: Address) -> bool:
        """It was told of us for longer than two merges could take, and does nothing: go on without it."""
        if self._nudged is None or self._nudged[0] != leader:
            return False
        return now_ns - self._nudged[1] > 2 * (self.config.merge_ask_ns + self.config.merge_ns)

    def _nudge(self, now_ns: int, leader: Address) -> Steps:
        if self._nudged is None or self._nudged[0] != leader:
            self._nudged = (leader, now_ns)
        return [self._announce_to((leader.endpoint,))]

    def _who_is_inside(self) -> dict[str, None]:
        """Where only observers are left nobody excludes the dead: who runs in their places may know nothing of us."""
        view = self._view
        if view is None or self._coordinator not in view.observers:
            return self._inside
        silent = [member for member in view.members if self._is_suspected(member)]
        for member in silent:
            self.outsiders.remember(member.endpoint)
        return {member.endpoint: None for member in view.members if member not in silent}

    # ---- time

    def on_time(self, now_ns: int) -> Steps:
        out: Steps = []
        if self._announce.is_due(now_ns):
            # Random steps, so that members do not keep in step and meet the same gap for ever.
            self._announce.at_ns = now_ns + int(self.config.announce_ns * (0.75 + 0.5 * self._random.random()))
            inside, count = self._who_is_inside(), self.config.announce_peers
            places = self.outsiders.next_in_turn(count, inside) + self.outsiders.just_left(now_ns, count, inside)
            out.append(self._announce_to(places))
        if self._answers.is_due(now_ns):
            out += self._conclude(now_ns)
        if self._check.is_due(now_ns):
            out += self._reread(now_ns)
        return out


def _without_us(mine: View, split: dict[Address, View]) -> dict[Address, View]:
    """Members of our view that are in a later one, which we are not in."""
    return {peer: view for peer, view in split.items() if peer in mine and view.id > mine.id}
