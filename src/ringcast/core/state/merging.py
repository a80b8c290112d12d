"""The states of a MergeView's sides on their way to becoming one: this member's part, whichever it is.

    giver:  AwaitMerged(gives) ── chunks of its side ──► merger: MergeStates … `on_states_merged` → GiveMerged
    all:    AwaitMerged stands behind the MergeView ◄── chunks of the merged state, then MergedOver

Invariant: what counts for a member changes only outside a roll call. An end, or a failure, between its answer and the
view waits; so the view that replaces a merger knows exactly who has the merged state (`Standing`), and who has not
stands directly behind the MergeView. Without progress for a while it ends with an error: nothing waits for ever (G14).
Not the chunks: chunks.py carries them. Not who does what: providers.py.
"""

from __future__ import annotations

from collections.abc import Callable

from ringcast.core.control import NewView, Reunion, Standing, Transfer
from ringcast.core.deadlines import Deadlines
from ringcast.core.effects import AwaitMerged, AwaitState, Effect, GiveMerged, MergedOver, MergeStates, SideOver
from ringcast.model import Address, Config, Event, Kind, ViewId

MERGER_PATIENCES = 2  # the merger gives up first, and tells all; others only if it says nothing at all
MEMBER_PATIENCES = 3


class StateMerging:
    """`takes_part`: the application merges states. `is_held`: between our answer to a roll call and its view."""

    def __init__(
        self, me: Address, config: Config, takes_part: bool, is_held: Callable[[], bool], deadlines: Deadlines
    ) -> None:
        self.me = me
        self._timer = deadlines.timer()
        self.takes_part = takes_part
        self.reunion: Reunion | None = None  # whose merged state we lack
        self._patience_ns = config.state_patience_ns
        self._is_held = is_held
        self._end_waits = False
        self._failure: str | None = None  # which waits
        self.reunited: ViewId | None = None
        self._whole: dict[Address, None] = {}  # sides of which everything is here

    @property
    def standing(self) -> Standing:
        return Standing(self.reunion is not None, self.reunited)

    @property
    def is_merger(self) -> bool:
        return self.reunion is not None and self.reunion.merger == self.me

    # ---- views

    def on_view(self, now_ns: int, message: NewView) -> tuple[list[Effect], Transfer | None]:
        """What begins, ends or changes with this view; and from whom the merged state comes from now on."""
        was, now = self.reunion, message.reunion
        out: list[Effect] = []
        if was is not None and (now is None or now.cut != was.cut):
            why = "another merge came first" if message.subgroups else "nobody is left who could merge the states"
            out += self._fail_now(now_ns, why)
        if now is None or not self.takes_part or self.me not in now.lacking:
            return out, None
        if now.view == message.id:
            return out + self._begin(now_ns, now), self._from_merger(now)
        given = next((t for t in message.transfers if t.joiner == self.me and t.view == message.id), None)
        self.reunion = now
        if given is None:
            return out + self.on_free(now_ns), None
        self._end_waits, self._failure = False, None
        self._go_on_until(now_ns)
        return [*out, AwaitState(given.provider, given.view)], given

    def _begin(self, now_ns: int, reunion: Reunion) -> list[Effect]:
        self.reunion = reunion
        self._end_waits, self._failure = False, None
        self._whole.clear()
        self._go_on_until(now_ns)
        told = self._event(now_ns, "begin", merger=reunion.merger, givers=[side.giver for side in reunion.sides])
        if self.is_merger:
            return [told, MergeStates(reunion.cut, reunion.sides)]
        return [told, AwaitMerged(reunion.cut, reunion.view, reunion.merger, self.gives)]

    def _from_merger(self, reunion: Reunion) -> Transfer | None:
        return None if reunion.merger == self.me else Transfer(self.me, reunion.merger, reunion.view)

    @property
    def gives(self) -> bool:
        sides = () if self.reunion is None else self.reunion.sides
        return not self.is_merger and any(side.giver == self.me for side in sides)

    # ---- the merger

    def awaits_side(self, giver: Address, number: int) -> bool:
        if self.reunion is None or not self.is_merger or self.reunion.view.number != number:
            return False
        return any(side.giver == giver for side in self.reunion.sides) and giver not in self._whole

    def on_side_over(self, now_ns: int, giver: Address, error: str | None) -> list[Effect]:
        if error is not None:
            return self.fail(now_ns, f"{giver} could not give the state of its side: {error}")
        self._whole[giver] = None
        return [SideOver(giver)]

    def on_states_merged(self, now_ns: int) -> list[Effect]:
        """The application made one state of all; it counts now, or when the view or the cancel has come."""
        if not self.is_merger:
            return []
        self._end_waits = True
        return self.on_free(now_ns)

    # ---- everybody

    def on_end(self, now_ns: int, error: str | None) -> list[Effect]:
        """All of the merged state is here; or whoever gave it could not go on."""
        if error is not None:
            return self.fail(now_ns, error)
        self._end_waits = True
        return self.on_free(now_ns)

    def on_free(self, now_ns: int) -> list[Effect]:
        """No roll call holds us: what waited counts now."""
        reunion = self.reunion
        if reunion is None or self._is_held():
            return []
        if not self._end_waits:
            return [] if self._failure is None else self._fail_now(now_ns, self._failure)
        out: list[Effect] = [self._event(now_ns, "merged" if self.is_merger else "loaded")]
        others = tuple(member for member in reunion.lacking if member != self.me)
        out.append(GiveMerged(others, reunion.view) if self.is_merger else MergedOver(None))
        self.reunited = reunion.cut
        self._forget()
        return out

    def fail(self, now_ns: int, why: str) -> list[Effect]:
        """This member keeps the state of its side: now, or when the view or the cancel has come."""
        if self.reunion is None:
            return []
        self._timer.at_ns = None
        if not self._end_waits:
            self._failure = why
        return self.on_free(now_ns)

    def _fail_now(self, now_ns: int, why: str) -> list[Effect]:
        apart = self._event(now_ns, "apart", why=why)
        self._forget()
        return [apart, MergedOver(why)]

    def _forget(self) -> None:
        self.reunion = self._timer.at_ns = None
        self._end_waits, self._failure = False, None

    # ---- time

    def on_progress(self, now_ns: int) -> None:
        if self.reunion is not None and self._failure is None:
            self._go_on_until(now_ns)

    def _go_on_until(self, now_ns: int) -> None:
        patiences = MERGER_PATIENCES if self.is_merger else MEMBER_PATIENCES
        self._timer.at_ns = now_ns + patiences * self._patience_ns

    def on_time(self, now_ns: int) -> list[Effect]:
        if not self._timer.is_due(now_ns) or self.reunion is None:
            return []
        seconds = MERGER_PATIENCES * self._patience_ns / 1e9
        if not self.is_merger:
            return self.fail(now_ns, f"no part of the merged state came from {self.reunion.merger}, and no word of it")
        silent = [str(s.giver) for s in self.reunion.sides if s.giver not in self._whole and s.giver != self.me]
        whom = f"from {', '.join(silent)}; does it read its events?" if silent else "by the application's merge_state"
        return self.fail(now_ns, f"nothing came for {seconds:.0f} s {whom}")

    def _event(self, now_ns: int, step: str, **detail: object) -> Event:
        view = None if self.reunion is None else self.reunion.cut
        return Event(Kind.REUNION, now_ns, view, detail={"step": step} | detail)
