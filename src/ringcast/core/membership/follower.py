"""The roll call, at a member: promise, answer, fill up, take the view (DESIGN section 4).

From its answer until the view or the cancel it sends nothing new and delivers nothing above the cut, so the cut is
exact (G5). A view that does not belong to the promise (promise.py), or whose cut is not where this member stands, is
refused with an answer; a view that is not greater, or without this member, is discarded (V18).

The coordinator follows its own roll call through this very file. Not the streams: they are asked through `Streams`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from ringcast.core.control import (
    Answer,
    Ask,
    Behind,
    Cancel,
    Carried,
    Fill,
    Filled,
    Holding,
    MergeId,
    NewView,
    Refusal,
    RollCallId,
    Settlement,
    Source,
    Standing,
    ViewAck,
    ViewRefusal,
)
from ringcast.core.deadlines import Deadlines
from ringcast.core.effects import SendReliable
from ringcast.core.membership.primary_record import PrimaryRecord
from ringcast.core.membership.promise import Promise, Promises
from ringcast.core.steps import Steps
from ringcast.model import Address, Config, Entry, Event, Kind, View, ViewNumbers


class Streams(Protocol):
    """What a member says about its streams when it is asked."""

    def entry(self) -> Entry: ...

    def holding(self, origin: Address) -> Holding: ...

    def delivered(self, origin: Address) -> int:
        """How far the application was given its messages, also if it is gone; for oneself, how far one has sent."""
        ...

    def carried(self, going: tuple[Address, ...]) -> tuple[Carried, ...]:
        """Whose ordered messages one holds, of those going away."""
        ...

    @property
    def is_filled(self) -> bool: ...


class ThisMember(Protocol):
    """The other components of this member, as a roll call and its view order them."""

    def standing(self) -> Standing:
        """How this member stands with the application's state."""
        ...

    def hold(self, now_ns: int, going: tuple[Address, ...]) -> None:
        """Send and deliver nothing new; take only repairs from the members that are going away."""
        ...

    def fill(self, now_ns: int, cuts: dict[Address, int], sources: tuple[Source, ...], settlement: Settlement) -> Steps:
        """Get and deliver everything up to the cut of each origin, and nothing above it."""
        ...

    def enter_merge(self, now_ns: int, merge_id: MergeId) -> str | None:
        """Enter the merge that a roll call is for. The answer is why this member does not; None: it has."""
        ...

    def release(self, now_ns: int) -> Steps:
        """End the hold without a view: send and deliver again."""
        ...

    def install(self, now_ns: int, message: NewView) -> Steps:
        """Install the next view: digest first, then view, then release."""
        ...


class Follower:
    """This member's promise, and the view it holds it in."""

    def __init__(
        self,
        me: Address,
        config: Config,
        view: View,
        streams: Streams,
        this_member: ThisMember,
        primacy: PrimaryRecord,
        may_coordinate: Callable[[Address], bool],
        numbers: ViewNumbers | None = None,
        deadlines: Deadlines | None = None,
    ) -> None:
        self.me = me
        self.config = config
        self.view = view
        self.deadlines = deadlines or Deadlines()
        self._promises = Promises(config.resumer_ns, self.deadlines.timer())
        self.known: NewView | None = None  # how the current view was told to us
        self.numbers = numbers or ViewNumbers()
        self.numbers.note(view.id.number)
        self._streams = streams
        self._this_member = this_member
        self._primacy = primacy
        self._may_lead = may_coordinate  # "X is my coordinator, or I suspect everybody before X"

    @property
    def promise(self) -> Promise | None:
        return self._promises.current

    # ---- questions

    def has_read(self, process: Address) -> bool:
        """Something it multicast was delivered here: it was a member with us, and knew it."""
        return self._streams.delivered(process) > 0

    def on_ask(self, now_ns: int, asker: Address, ask: Ask) -> Steps:
        base = ask.id.base
        if asker in self.view:  # A number stays with us for ever: nobody but a member may raise it (Y21).
            self.numbers.note(base.number)
        if base < self.view.id:
            return self._ahead(now_ns, asker, ask.id)
        if base > self.view.id:
            return [SendReliable(asker, Behind(ask.id, self.view.id))]
        why = self._objection(asker, ask)
        if why is None and ask.merge_id is not None:
            why = self._this_member.enter_merge(now_ns, ask.merge_id)
        if why is not None:
            return self.refuse(now_ns, asker, ask.id, why)
        return self._answer(now_ns, asker, ask)

    def _objection(self, asker: Address, ask: Ask) -> str | None:
        """Why we do not answer this roll call on our view; None if we do."""
        if asker not in self.view or self.view.rank(asker) != ask.id.rank or not self._leads(asker, ask):
            return f"{asker} does not lead here"
        return self._promises.objection(ask.id)

    def _leads(self, asker: Address, ask: Ask) -> bool:
        """In a merge also the first of those who share the view: all before it are parties of their own."""
        if self._may_lead(asker):
            return True
        if ask.merge_id is None:
            return False
        leader = self.view.leader(ask.going.__contains__)
        return leader is None or self.view.rank(asker) <= self.view.rank(leader)  # An observer speaks for a side, too.

    def _ahead(self, now_ns: int, asker: Address, roll_call: RollCallId) -> Steps:
        """The asker is behind: give it our view if it is in it; else it is left to merge."""
        if asker in self.view and self.known is not None:
            return [SendReliable(asker, self.known)]
        return self.refuse(now_ns, asker, roll_call, f"already in {self.view.id}", gone=asker not in self.view)

    def _answer(self, now_ns: int, asker: Address, ask: Ask) -> Steps:
        self._promises.give(now_ns, ask.id, asker)
        answer = Answer(
            ask.id,
            self._streams.entry(),
            tuple(self._streams.holding(member) for member in ask.going if member in self.view and member != self.me),
            self.numbers.highest,
            self.config.capacity,
            self.config.window_bytes,
            self._streams.carried(ask.going),
            self._this_member.standing(),
            self._primacy.mark,
            self._primacy.file.recent_ns,
            self._primacy.file.writing_ns(now_ns),
        )
        self._this_member.hold(now_ns, ask.going)
        return [self._event(now_ns, "promise", ask.id, leaving=ask.leaving), SendReliable(asker, answer)]

    def refuse(self, now_ns: int, asker: Address, roll_call: RollCallId, why: str, gone: bool = False) -> Steps:
        return [self._event(now_ns, "refuse", roll_call, why), SendReliable(asker, Refusal(roll_call, why, gone))]

    # ---- filling up

    def on_fill(self, now_ns: int, asker: Address, fill: Fill) -> Steps:
        promise = self.promise
        if (
            promise is None
            or promise.id != fill.id
            or promise.asker != asker
            or len(fill.cuts) != len(self.view.members)
        ):
            return []  # A promise that was replaced or ended; the asker has heard of it, or begins again.
        cuts = dict(zip(self.view.members, fill.cuts, strict=True))
        if any(self._streams.delivered(member) > cut for member, cut in cuts.items()):
            return self.refuse(now_ns, asker, fill.id, "already beyond the cut")
        promise.is_filling = True
        recorded = self._primacy.on_fill(now_ns, fill)
        return [*recorded, *self._this_member.fill(now_ns, cuts, fill.sources, fill.settlement)]

    def on_progress(self) -> Steps:
        """Something was received; call it after every fact while filling."""
        promise = self.promise
        if promise is None or not promise.is_filling or promise.has_filled:
            return []
        if not self._streams.is_filled or not self._primacy.has_recorded:
            return []
        promise.has_filled = True
        return [SendReliable(promise.asker, Filled(promise.id))]

    # ---- the end of a promise

    def on_cancel(self, now_ns: int, asker: Address, cancel: Cancel) -> Steps:
        promise = self.promise
        if promise is None or promise.asker != asker or promise.id > cancel.id:
            return []
        return self.release(now_ns)

    def release(self, now_ns: int) -> Steps:
        promise = self._promises.end()
        if promise is None:
            return []
        return [self._event(now_ns, "release", promise.id), *self._this_member.release(now_ns)]

    def on_view(self, now_ns: int, sender: Address, message: NewView) -> Steps:
        if sender in self.view:
            self.numbers.note(message.id.number)
        if message.id == self.view.id:
            return [SendReliable(sender, ViewAck(message.id))]
        if message.id < self.view.id or self.me not in message.members:
            return []
        wrong = self._mismatch(sender, message)
        if wrong is not None:
            return [
                self._event(now_ns, "refuse", message.roll_call, wrong),
                SendReliable(sender, ViewRefusal(message.id, wrong)),
            ]
        self._promises.end()
        return [*self._this_member.install(now_ns, message), SendReliable(sender, ViewAck(message.id))]

    def _mismatch(self, sender: Address, message: NewView) -> str | None:
        """Why this view cannot follow ours."""
        promise = self.promise
        if promise is None:
            return "nothing was promised"
        if message.roll_call != promise.id and sender != promise.asker and promise.asker != self.me:
            return f"promised to {promise.id}"
        if message.roll_call.base != self.view.id or len(message.cuts) != len(self.view.members):
            return f"it follows {message.roll_call.base}, this member is in {self.view.id}"
        cuts = zip(self.view.members, message.cuts, strict=True)
        beside = [member for member, cut in cuts if self._streams.delivered(member) != cut]
        if beside:
            return f"not at its cut of {beside[0]}"
        return self._set_back(message)

    def _set_back(self, message: NewView) -> str | None:
        """This "newcomer" was a member with us: its JOIN is old, and our coordinator did not know that (G1)."""
        for member, entry in message.digest.items():
            if member not in self.view and self._streams.delivered(member) > entry.delivered:
                return f"it would set the stream of {member} back"
        return None

    def on_installed(self, view: View, message: NewView | None) -> None:
        self.view = view
        self.known = message
        self._promises.end()
        self.numbers.note(view.id.number)

    # ---- time

    def on_time(self, now_ns: int) -> Steps:
        """The last resort: nobody ended the promise, so it ends here, and a late view will be refused."""
        return self.release(now_ns) if self._promises.is_due(now_ns) else []

    def _event(
        self, now_ns: int, step: str, roll_call: RollCallId, why: str = "", leaving: tuple[Address, ...] = ()
    ) -> Event:
        detail: dict[str, object] = {"step": step, "id": str(roll_call)}
        if why:
            detail["why"] = why
        if leaving:
            detail["leaving"] = list(leaving)
        return Event(Kind.ROLL_CALL, now_ns, self.view.id, value=roll_call.attempt, detail=detail)
