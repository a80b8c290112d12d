"""One change of the view at the coordinator, from what led to it until everybody has shown the new view.

    requests or a merge → roll call → the view → installed here → told to the others → acks

The coordinator installs before it sends; members are told before joiners, so that a coordinator that dies in between
leaves no joiner alone in a view. For a merge the roll call is the seed's GET_DIGEST, and the view comes from the merge
leader. Not the handler: it says what to process and is told how it ended.
"""

from __future__ import annotations

from collections.abc import Iterable

from ringcast.core.control import Join, MergeId, MergeView, NewView, Transfer, ViewRefusal
from ringcast.core.deadlines import Timer
from ringcast.core.effects import SendReliable
from ringcast.core.membership.requests import Request
from ringcast.core.membership.roll_call import Caller, Complete, RollCall
from ringcast.core.state.providers import PendingStates, reunion_of
from ringcast.core.steps import Steps, Until
from ringcast.model import Address, Config, Entry, Mark


class Spreading:
    """One view, told to everybody who has to ack it, and to those who only shall know. It is installed here already.

    Who refuses it or stays silent until the limit is suspected. A suspicion may begin the next change while this one
    goes on: the timer is the coordinator's, and belongs to the newest change.
    """

    def __init__(
        self, caller: Caller, message: NewView, to: Iterable[Address], timer: Timer, also: Iterable[Address] = ()
    ) -> None:
        self._caller = caller
        self.view = message.view
        self._timer = timer  # it runs already
        self._message = message
        self._unacked = dict.fromkeys(to)
        self._also = tuple(also)

    def messages(self) -> Steps:
        return [SendReliable(member, self._message) for member in (*self._unacked, *self._also)]

    def on_shown(self, now_ns: int, member: Address) -> Steps:
        """This member has shown the view, or nobody waits for it any more."""
        if member not in self._unacked:
            return []
        del self._unacked[member]
        return self.end_if_shown(now_ns)

    def on_refusal(self, now_ns: int, sender: Address, refusal: ViewRefusal) -> Steps:
        if refusal.view != self.view.id or sender not in self._unacked:
            return []
        why = f"refused view {refusal.view}: {refusal.why}"
        suspected = self._caller.suspect(now_ns, sender, why)
        return [*suspected, *self.on_shown(now_ns, sender)]  # Nothing, if the suspicion has ended the wait for it.

    def on_time(self, now_ns: int) -> Steps:
        """Suspect whoever is late, while the view still spreads: each has until the next repetition to show it."""
        if not self._timer.is_due(now_ns):
            return []
        late, self._unacked = list(self._unacked), {}
        why = f"did not show view {self.view.id}"
        out = [step for member in late for step in self._caller.suspect(now_ns, member, why, Until.SHOWN)]
        return [*out, *self._caller.on_spread(now_ns, self.view.id)]

    def end_if_shown(self, now_ns: int) -> Steps:
        return [] if self._unacked else self._caller.on_spread(now_ns, self.view.id)


class ViewChange:
    """A batch of requests, or one merge, on its way to a view."""

    def __init__(
        self,
        me: Address,
        config: Config,
        roll_call: RollCall,
        *,
        ticket: int = 0,
        requests: tuple[Request, ...] = (),
        merge_id: MergeId | None = None,
    ) -> None:
        self.me = me
        self.config = config
        self.roll_call = roll_call
        self.ticket = ticket
        self.merge_id = merge_id
        self.joiners: dict[Address, Join] = {
            request.member: request.said
            for request in requests
            if request.kind.is_join and isinstance(request.said, Join) and request.member not in roll_call.base
        }
        roll_call.joiners = lambda: self.joiners
        self.complete: Complete | None = None
        self.why = ""  # its roll call failed, and this is why
        self.spreading: Spreading | None = None

    @property
    def wants_state(self) -> list[Address]:
        return [member for member, join in self.joiners.items() if join.with_state]

    # ---- the next view

    def compose(self, complete: Complete, states: PendingStates) -> NewView:
        """Who stays, in its order, then the joiners; the smallest windows win."""
        view_id = self.roll_call.next_id
        assert view_id is not None  # It was taken when all had answered.
        base = self.roll_call.base
        staying = self.roll_call.staying
        members = (*staying, *self.joiners)
        observers = [m for m in staying if m in base.observers] + [m for m, j in self.joiners.items() if j.observer]
        wanting, standings = self.wants_state, complete.standings
        transfers: tuple[Transfer, ...] = ()
        reunion = None
        if wanting or states.transfers or states.reunion or any(said.joining for said in standings.values()):
            transfers, reunion = states.assign(view_id, staying, observers, wanting, standings)
        return NewView(
            self.roll_call.id,
            view_id,
            members,
            tuple(observers),
            (),
            min([complete.capacity, *(join.capacity for join in self.joiners.values())]),
            min([complete.window_bytes, *(join.window_bytes for join in self.joiners.values())]),
            tuple(complete.entries.get(member, Entry(0, 0, 0)) for member in members),
            complete.cuts,
            settlement=complete.settlement,
            transfers=transfers,
            reunion=reunion,
            mark=self._mark(complete.mark, members, observers),
            left=tuple(m for m in self.roll_call.leaving if m not in members),
        )

    def _mark(self, mark: Mark | None, members: tuple[Address, ...], observers: list[Address]) -> Mark | None:
        """Primary as it was recorded; if a joiner is gone since, it is another view, and not primary."""
        if mark is None:
            return None
        primary = self.roll_call.primary
        votes = mark.votes_of(member for member in members if member not in observers)
        return mark.of_view(members, primary if primary is not None and primary.voters == votes else None)

    def compose_merged(self, complete: Complete, merged: MergeView, states: PendingStates) -> NewView:
        """The merge leader's view, with the cut of our subgroup."""
        view, digest = merged.view, dict(zip(merged.members, merged.entries, strict=True))
        return NewView(
            self.roll_call.id,
            view.id,
            view.members,
            view.observers,
            view.subgroups,
            view.capacity,
            view.window_bytes,
            tuple(digest[member] for member in view.members),
            complete.cuts,
            self.merge_id,
            complete.settlement,
            states.assign_merged(view, self.roll_call.staying, complete.standings),
            reunion_of(view, merged.stateless) if states.reunites else None,
            view.mark,
            loading=tuple(m for m in merged.stateless if m not in self.roll_call.base and not states.reunites),
        )

    def spread(self, now_ns: int, message: NewView, caller: Caller) -> Spreading:
        """Prepare to tell our members and joiners; those who leave learn it too, and need not answer."""
        ours = [m for m in message.members if m != self.me and (m in self.roll_call.asked or m in self.joiners)]
        leaving = [m for m in self.roll_call.leaving if m != self.me and m in self.roll_call.asked]
        self.roll_call.timer.at_ns = now_ns + self.config.view_limit_ns
        self.spreading = Spreading(caller, message, ours, self.roll_call.timer, also=leaving)
        return self.spreading

    # ---- what happens on the way

    def on_suspect(self, now_ns: int, member: Address) -> Steps:
        self.joiners.pop(member, None)
        if self.spreading is not None:
            return self.spreading.on_shown(now_ns, member)
        return self.roll_call.on_suspect(now_ns, member)

    def on_time(self, now_ns: int) -> Steps:
        return self.roll_call.on_time(now_ns) if self.spreading is None else self.spreading.on_time(now_ns)
