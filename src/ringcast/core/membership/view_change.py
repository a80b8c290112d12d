"""One view, from the requests that led to it until everybody has shown it: at the coordinator.

    requests → roll call → compose → install here → tell the others → acks

The coordinator installs before it sends; members are told before joiners, so that a coordinator that dies in between
leaves no joiner alone in a view. Who refuses the view or stays silent is suspected. Not the handler: it says what to
process and is told how it ended.
"""

from __future__ import annotations

from ringcast.core.control import Join, NewView, ViewRefusal
from ringcast.core.membership.requests import Request, RequestKind
from ringcast.core.membership.roll_call import RollCall
from ringcast.core.membership.steps import Complete, Say, Spread, Steps, Suspect
from ringcast.model import Address, Config, View, ViewId


class ViewChange:
    """A batch of requests on its way to a view."""

    def __init__(
        self, me: Address, config: Config, ticket: int, requests: tuple[Request, ...], roll_call: RollCall
    ) -> None:
        self.me = me
        self.config = config
        self.ticket = ticket
        self.roll_call = roll_call
        self.joiners: dict[Address, Join] = {
            request.member: request.said
            for request in requests
            if request.kind.is_join and isinstance(request.said, Join) and request.member not in roll_call.base
        }
        self.wants_state = [r.member for r in requests if r.kind is RequestKind.JOIN_WITH_STATE]
        self.view: View | None = None  # once it is composed
        self._unacked: dict[Address, None] = {}
        self._deadline_ns: int | None = None

    def compose(self, complete: Complete) -> NewView:
        """The next view: who stays in its order, then the joiners; the smallest windows win."""
        base = self.roll_call.base
        staying = self.roll_call.staying
        members = (*staying, *self.joiners)
        observers = [m for m in staying if m in base.observers] + [m for m, j in self.joiners.items() if j.observer]
        return NewView(
            self.roll_call.id,
            ViewId(complete.number + 1, self.me),
            members,
            tuple(observers),
            (),
            min([complete.capacity, *(join.capacity for join in self.joiners.values())]),
            min([complete.window_bytes, *(join.window_bytes for join in self.joiners.values())]),
            tuple(complete.entries.get(member, 0) for member in members),
            complete.cuts,
        )

    def spread(self, now_ns: int, message: NewView) -> Steps:
        """Tell the others; those who leave learn it too, and need not answer."""
        self.view = message.view
        self._unacked = dict.fromkeys(member for member in message.members if member != self.me)
        self._deadline_ns = now_ns + self.config.view_limit_ns
        leaving = [member for member in self.roll_call.leaving if member != self.me and member in self.roll_call.asked]
        told: Steps = [Say(member, message) for member in (*self._unacked, *leaving)]
        return told + self._end_if_shown()

    def on_shown(self, member: Address) -> Steps:
        """This member has shown the view (an ack, a heartbeat), or nobody waits for it any more."""
        if member not in self._unacked:
            return []
        del self._unacked[member]
        return self._end_if_shown()

    def on_view_refusal(self, sender: Address, refusal: ViewRefusal) -> Steps:
        if self.view is None or refusal.view != self.view.id or sender not in self._unacked:
            return []
        return [Suspect(sender, f"refused view {refusal.view}: {refusal.why}"), *self.on_shown(sender)]

    def _end_if_shown(self) -> Steps:
        if self._unacked:
            return []
        self._deadline_ns = None
        return [Spread()]

    # ---- what happens on the way

    def on_suspect(self, now_ns: int, member: Address) -> Steps:
        self.joiners.pop(member, None)
        return self.roll_call.on_suspect(now_ns, member) if self.view is None else self.on_shown(member)

    def deadline_ns(self) -> int | None:
        return self.roll_call.deadline_ns if self.view is None else self._deadline_ns

    def on_time(self, now_ns: int) -> Steps:
        if self.view is None:
            return self.roll_call.on_time(now_ns)
        if self._deadline_ns is None or now_ns < self._deadline_ns:
            return []
        silent, self._unacked = list(self._unacked), {}
        out: Steps = [Suspect(member, f"did not show view {self.view.id}") for member in silent]
        return out + self._end_if_shown()
