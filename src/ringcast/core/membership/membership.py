"""This member's part in deciding who is in the group: joiner, follower, coordinator, leaver, often several at once.

Messages and suspicions come in, steps go out; the node carries them out. Each part keeps its own state in its own
file; here they meet, and nothing is kept but which of them there are:

    Joiner      looks for a group               Follower     answers roll calls, takes views
    Suspicions  who is suspected, who acts      Coordinator  requests, roll calls, views (seed 004)
    Leaver      asks to go
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from ringcast.core.control import (
    Announce,
    Ask,
    Behind,
    Busy,
    Cancel,
    Control,
    Elsewhere,
    Fill,
    Hello,
    Join,
    JoinRefused,
    Leave,
    NewView,
    Stranger,
    ViewAck,
)
from ringcast.core.deadlines import Deadlines
from ringcast.core.effects import Drop, Freed, Left, Refused, SendReliable, send_once
from ringcast.core.entrance import PLAIN, Entrance, RandomSource
from ringcast.core.membership.coordinator import Coordinator, Neighbours
from ringcast.core.membership.follower import Follower, Streams, ThisMember
from ringcast.core.membership.founding import Founding
from ringcast.core.membership.joining import Joiner, narrows, refuse_join
from ringcast.core.membership.leaving import Leaver
from ringcast.core.membership.primary_record import PrimaryRecord
from ringcast.core.membership.suspicions import Exclusion, Suspicions
from ringcast.core.state.providers import PendingStates
from ringcast.core.steps import Steps, Until
from ringcast.model import Address, Config, Event, Kind, Terms, View, ViewId, ViewNumbers


class Membership:
    """Who is in the group, as this member sees it."""

    def __init__(
        self,
        me: Address,
        config: Config,
        random: RandomSource,
        streams: Streams,
        this_member: ThisMember,
        neighbours: Neighbours,
        entrance: Entrance = PLAIN,
        deadlines: Deadlines | None = None,
    ) -> None:
        self.me = me
        self.deadlines = deadlines or Deadlines()
        self.config = config
        self.suspicions = Suspicions(me)
        self.states = PendingStates(entrance.reunites)
        self.numbers = ViewNumbers()
        mark = entrance.mark
        self.primacy = PrimaryRecord(me, mark, entrance.keeps_mark)
        quorum = 0 if mark is None else mark.quorum
        self.terms = Terms.of(config, primary=mark is not None, reunites=entrance.reunites, quorum=quorum)
        self._founding = Founding(me, self.primacy)
        self.joiner: Joiner | None = Joiner(me, config, random, entrance, self.terms, self.deadlines)
        self.follower: Follower | None = None
        self.as_coordinator: Coordinator | None = None
        self.leaver: Leaver | None = None
        self.is_over = False
        self.lacks_coordinator = False  # only observers are left in our view, as far as we know: nobody can change it
        self.exclusion = Exclusion(me, self.suspicions, self.primacy)
        self._raise = self.deadlines.timer()  # suspicion is level-triggered: raised again until a view
        self._primary = self.deadlines.timer()  # when we ask ourselves again for a primary view
        self._random = random
        self._streams = streams
        self._this_member = this_member
        self._neighbours = neighbours
        self._routes: dict[type, Callable[..., Steps]] = {
            Hello: self._on_hello,
            Announce: self._on_announce,
            Join: self._on_join,
            JoinRefused: self._on_join_refused,
            Leave: self._on_leave,
            Busy: self._on_busy,
            Elsewhere: self._on_elsewhere,
            Stranger: self._on_stranger,
            Ask: self._on_ask,
            Fill: self._on_fill,
            Cancel: self._on_cancel,
            NewView: self.take_view,
            **self.primacy.routes,
        }

    @property
    def view(self) -> View | None:
        return None if self.follower is None else self.follower.view

    @property
    def acting(self) -> Address | None:
        """Who coordinates our view, as far as we know; None if only observers are left."""
        return None if self.follower is None else self.suspicions.acting(self.follower.view)

    @property
    def held_by(self) -> Address | None:
        """Another member whose roll call we answered, and that we do not suspect: its view is on its way to us."""
        promise = None if self.follower is None else self.follower.promise
        if promise is None or promise.asker == self.me or promise.asker in self.suspicions:
            return None
        return promise.asker

    @property
    def is_promised(self) -> bool:
        """Between our answer to a roll call and its view or its cancel."""
        return self.follower is not None and self.follower.promise is not None

    def on_message(self, now_ns: int, sender: Address, message: Control) -> Steps:
        if self.is_over:
            return []
        route = self._routes.get(type(message))
        if route is not None:
            return route(now_ns, sender, message)
        led = self.as_coordinator
        return [] if led is None else Coordinator.routes[type(message)](led, now_ns, sender, message)

    @property
    def routes(self) -> dict[type, Callable[..., Steps]]:
        """The messages that membership takes: those of every member, and those of its coordinator."""
        return dict.fromkeys((*self._routes, *Coordinator.routes), self.on_message)

    # ---- joining

    def begin(self, now_ns: int) -> Steps:
        return [] if self.joiner is None else self.joiner.begin(now_ns) + self._founding.if_due(now_ns, self.joiner)

    def on_discovered(self, now_ns: int, endpoints: Iterable[str], is_all: bool) -> Steps:
        return [] if self.joiner is None else self.joiner.on_discovered(now_ns, endpoints, is_all)

    def _on_hello(self, now_ns: int, sender: Address, hello: Hello) -> Steps:
        if self.joiner is not None:
            return self.joiner.on_hello(now_ns, sender, hello) + self._founding.if_due(now_ns, self.joiner)
        follower = self.follower
        if follower is None:
            return []
        out: Steps = [send_once(sender, Announce(follower.view.id, self.acting))]
        if sender == self.acting and follower.known is not None:
            # It is to lead us, and looks for a group: who made our view died before telling it, and nobody else will.
            out.append(SendReliable(sender, follower.known))
        return out

    def _on_announce(self, now_ns: int, sender: Address, announce: Announce) -> Steps:
        if self.joiner is None:
            return []
        return self.joiner.on_announce(now_ns, sender, announce) + self._founding.if_due(now_ns, self.joiner)

    def _on_join(self, now_ns: int, sender: Address, join: Join) -> Steps:
        view, leading = self.view, self.as_coordinator
        if view is None or leading is None:
            return [SendReliable(sender, Busy())]
        if not leading.is_mine:
            return self._elsewhere(sender)
        if sender not in view and self.follower is not None and self.follower.has_read(sender):
            # Said before its first view, and late. It was a member since: it comes back by merge, its stream goes on.
            return [Drop("a JOIN from before its sender was a member", sender)]
        out: Steps = []
        for old in [member for member in view.members if sender.is_successor_of(member)]:
            out += self.suspect(now_ns, old, f"{sender} runs in its place")  # The process before is gone for good.
        why = self.terms.difference(join.terms)
        if why is not None:
            return out + refuse_join(now_ns, sender, why)
        return out + narrows(view, sender, join) + leading.on_join(now_ns, sender, join)

    def _on_join_refused(self, now_ns: int, sender: Address, refused: JoinRefused) -> Steps:
        if self.joiner is None or sender != self.joiner.target:
            return []
        self.is_over = True
        return [Refused(f"{sender} refuses it: {refused.why}")]

    def _elsewhere(self, asker: Address) -> Steps:
        return [] if self.acting is None else [SendReliable(asker, Elsewhere(self.acting))]

    def _on_busy(self, now_ns: int, sender: Address, busy: Busy) -> Steps:
        if self.leaver is not None:
            self.leaver.on_busy(now_ns)
        return [] if self.joiner is None else self.joiner.on_busy(now_ns, sender)

    def _on_elsewhere(self, now_ns: int, sender: Address, elsewhere: Elsewhere) -> Steps:
        return [] if self.joiner is None else self.joiner.on_elsewhere(now_ns, sender, elsewhere.coordinator)

    # ---- leaving

    def leave(self, now_ns: int) -> Steps:
        """The application goes; what it sent before is not lost."""
        if self.view is None or len(self.view.members) == 1:
            return self.end(clean=True)
        if self.leaver is None:
            self.leaver = Leaver(now_ns, self.config, self._random, self.deadlines)
        return self.leaver.ask(now_ns, self.acting)

    def _on_leave(self, now_ns: int, sender: Address, leave: Leave) -> Steps:
        if self.as_coordinator is None:
            return []
        return self.as_coordinator.on_leave(now_ns, sender) if self.as_coordinator.is_mine else self._elsewhere(sender)

    def end(self, clean: bool) -> Steps:
        self.is_over = True
        return [Left(clean)]

    # ---- suspicion

    def suspect(self, now_ns: int, member: Address, why: str, until: Until = Until.VIEW) -> Steps:
        """Of a member that did not do what it must, or that the failure detector suspects."""
        view, leading = self.view, self.as_coordinator
        if view is None or leading is None or member == self.me:
            return []
        if member == leading.handler.merge_leader and self.suspicions.is_news(member, until):
            # Whoever leads us: the merge it led is over (seed 004, case #3).
            return leading.on_merge_leader_gone(now_ns, member) + self._suspect_member(now_ns, member, why, until)
        if member not in view:
            return leading.on_joiner_gone(now_ns, member)
        return self._suspect_member(now_ns, member, why, until)

    def _suspect_member(self, now_ns: int, member: Address, why: str, until: Until = Until.VIEW) -> Steps:
        view, leading = self.view, self.as_coordinator
        if view is None or leading is None or member not in view:
            return []
        out: Steps = []
        is_new = self.suspicions.add(member, why, until)
        if is_new and until is not Until.HEARD:
            out.append(Event(Kind.SUSPECT, now_ns, view.id, member, detail={"why": why}))
        if is_new and self.acting is None:  # Only observers are left: whoever waits is told.
            self.lacks_coordinator = True
            out.append(Freed())
        out += self.exclusion.if_left_alone(view)
        self._raise.at_ns = now_ns + self.config.suspect_repeat_ns
        return out + leading.on_suspects(now_ns) if leading.is_mine else out

    def _raise_again(self, now_ns: int) -> Steps:
        if not self._raise.is_due(now_ns):
            return []
        self._raise.at_ns = now_ns + self.config.suspect_repeat_ns if self.suspicions.members else None
        leading = self.as_coordinator
        return leading.on_suspects(now_ns) if leading is not None and leading.is_mine else []

    def withdraw(self, member: Address) -> None:
        """It was heard again."""
        self.suspicions.withdraw(member)
        self._on_cleared(member)

    def on_shown(self, now_ns: int, member: Address) -> Steps:
        """It has shown our view; later than it had to, perhaps."""
        if self.suspicions.forgive(member):
            self._on_cleared(member)
        view, leading = self.view, self.as_coordinator
        return [] if view is None or leading is None else leading.on_shown(now_ns, member, view.id)

    def _on_cleared(self, member: Address) -> None:
        self.lacks_coordinator = self.view is not None and self.acting is None
        if self.as_coordinator is not None and member not in self.suspicions:
            self.as_coordinator.handler.on_cleared(member)

    def _on_stranger(self, now_ns: int, sender: Address, stranger: Stranger) -> Steps:
        """It goes on in a later view without us; if it led us, we lead ourselves."""
        view = self.view
        if view is None or sender not in view or stranger.view <= view.id:
            return []
        if self.leaver is not None:  # That is the view we wanted; its maker died before telling us.
            return [] if self.as_coordinator is not None and self.as_coordinator.is_out else self.end(clean=True)
        self.exclusion.gone_to = stranger.view
        told = self.exclusion.tell(stranger.view) if sender == self.acting else []
        return told + self._suspect_departed(now_ns, sender, stranger.view)

    def _suspect_departed(self, now_ns: int, member: Address, view: ViewId) -> Steps:
        """It lives, in a later view without us: a merge that it leads goes on, and brings us together again."""
        return self._suspect_member(now_ns, member, f"is in {view}, without this member")

    def on_left_behind(self, now_ns: int, view: View) -> Steps:
        """The others go on without us: we keep our incarnation, lead ourselves, and come back by merge."""
        if self.as_coordinator is not None and self.as_coordinator.is_out:
            return []
        out = self.exclusion.tell(view.id)
        for member in () if self.view is None else self.view.members:
            if member in view and member != self.me:
                out += self._suspect_departed(now_ns, member, view.id)
        return out

    # ---- roll calls and views, at a member

    def _on_ask(self, now_ns: int, sender: Address, ask: Ask) -> Steps:
        if self.follower is None:  # Its view has us, but whoever made it died before telling us.
            return [SendReliable(sender, Behind(ask.id, ViewId(0, self.me)))]
        if self.primacy.mark is not None and sender in self.follower.view:
            self.primacy.on_ask(ask)
        return self.follower.on_ask(now_ns, sender, ask)

    def _on_fill(self, now_ns: int, sender: Address, fill: Fill) -> Steps:
        return [] if self.follower is None else self.follower.on_fill(now_ns, sender, fill)

    def _on_cancel(self, now_ns: int, sender: Address, cancel: Cancel) -> Steps:
        if self.primacy.mark is not None:
            self.primacy.on_cancel(cancel)
        return [] if self.follower is None else self.follower.on_cancel(now_ns, sender, cancel)

    def on_progress(self) -> Steps:
        """Call after every fact while this member fills up to a cut."""
        return [] if self.follower is None else self.follower.on_progress()

    def on_mark_kept(self, now_ns: int, number: int) -> Steps:
        """A mark of primary views is stored: what waited for that goes on, and the newest mark is written next."""
        next_one = self.primacy.on_kept(now_ns, number)
        return next_one + self._founding.if_recorded() + self.on_progress()

    def take_view(self, now_ns: int, sender: Address, message: NewView) -> Steps:
        if self.follower is None:
            if self.me not in message.members:
                return []
            return [*self._this_member.install(now_ns, message), SendReliable(sender, ViewAck(message.id))]
        if self.leaver is not None and self.me not in message.members and message.id > self.follower.view.id:
            return self.end(clean=True) if sender in self.follower.view else []
        return self.follower.on_view(now_ns, sender, message)

    def on_installed(self, now_ns: int, message: NewView, suspected: Collection[Address] = ()) -> Steps:
        """Tell every part of membership, in this order, that this view is installed. `suspected`: by the detector."""
        view = message.view
        if self.follower is None or self.as_coordinator is None:
            if self.joiner is not None:
                self.joiner.end()
            self.joiner = None
            ports = (self._streams, self._this_member, self.primacy)
            known = (self.may_coordinate, self.numbers, self.deadlines)
            self.follower = Follower(self.me, self.config, view, *ports, *known)
            parts = (self.follower, self.suspicions, self.states, self, self._neighbours, self.deadlines)
            self.as_coordinator = Coordinator(self.me, self.config, *parts)
        self.follower.on_installed(view, message)
        self.suspicions.on_view(view, suspected)
        self.exclusion.on_view()
        self.lacks_coordinator = self.acting is None
        out = [] if self.primacy.mark is None else self.primacy.on_view(now_ns, view)
        out += self.as_coordinator.on_view(now_ns, message) + self.want_primary(now_ns)
        return out + ([] if self.leaver is None else self.leave(now_ns))

    def want_primary(self, now_ns: int) -> Steps:
        """Whoever leads a view that has the votes asks itself for a primary one, again and again."""
        if self.primacy.mark is None:
            return []
        self._primary.at_ns = now_ns + self.config.suspect_repeat_ns if self.primacy.wants_primary else None
        if self._primary.at_ns is None or self.as_coordinator is None or not self.as_coordinator.is_mine:
            return []
        return self.as_coordinator.on_wanting_primary(now_ns)

    def give_view(self, to: Address) -> Steps:
        return [] if self.as_coordinator is None else self.as_coordinator.give_view(to)

    def may_coordinate(self, member: Address) -> bool:
        return self.follower is not None and self.suspicions.may_coordinate(self.follower.view, member)

    # ---- time

    def on_time(self, now_ns: int) -> Steps:
        if self.is_over:
            return []
        if self.joiner is not None:
            return self.joiner.on_time(now_ns) + self._founding.if_due(now_ns, self.joiner)
        out: Steps = [] if self.follower is None else self.follower.on_time(now_ns)
        out += [] if self.as_coordinator is None else self.as_coordinator.on_time(now_ns)
        out += self._raise_again(now_ns)
        if self._primary.is_due(now_ns):
            out += self.want_primary(now_ns)
        if self.leaver is not None and self.leaver.is_over(now_ns):
            return [*out, *self.end(clean=False)]
        if self.leaver is not None and self.leaver.is_due(now_ns):
            out += self.leaver.ask(now_ns, self.acting)
        return out
