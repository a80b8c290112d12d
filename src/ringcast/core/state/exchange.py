"""The application's state as this member's coordination sees it: whom to tell how far it has come, whom to give it.

Brings together the way of the chunks (chunks.py) and the reunion of states after a merge (merging.py), and
turns what happens there into words to others. A joiner tells all members; of a merged state only the coordinator need
know, for a view asks everybody anyway (`Standing`), and only the coordinator keeps merges away meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable

from ringcast.core.control import Control, NewView, Reunion, ReunionFailed, Standing, StateConfirmed, StateProgress
from ringcast.core.deadlines import Deadlines
from ringcast.core.effects import AwaitMerged, AwaitState, Effect, GiveMerged, MergedOver, SendReliable, StateOver
from ringcast.core.entrance import Entrance
from ringcast.core.membership import Membership
from ringcast.core.packets import Run
from ringcast.core.state.chunks import StateChunks
from ringcast.core.state.lineage import Lineage
from ringcast.core.state.merging import StateMerging
from ringcast.core.steps import Steps
from ringcast.model import Address, Config, View


class StateExchange:
    """Asked only while something of it is under way (coordination.py)."""

    def __init__(
        self,
        me: Address,
        config: Config,
        largest_whole: int,
        membership: Membership,
        view: Callable[[], View | None],
        entrance: Entrance,
        deadlines: Deadlines,
    ) -> None:
        self.me = me
        self.deadlines = deadlines
        self.reunion = StateMerging(me, config, entrance.reunites, lambda: membership.is_promised, deadlines)
        self.state = StateChunks(me, config, largest_whole, self.reunion, view)
        self.state.wants = entrance.with_state
        self._membership = membership
        self._view = view
        self._patience_ns = config.state_patience_ns
        self._told_progress_ns = 0
        self._has_confirmed = False  # that it joined and has the state
        self.early: tuple[Address, ReunionFailed] | None = None  # of a view that we have not got yet
        self._lineage = Lineage()

    @property
    def standing(self) -> Standing:
        """What we say in a roll call, so that whoever leads knows it, whatever side of a merge it comes from."""
        joining, is_whole = self.state.joining, self.state.joining is not None and not self.state.wants
        return self.reunion.standing._replace(joining=joining, is_whole=is_whole, is_bare=self.state.is_bare)

    # ---- chunks

    def on_run(self, now_ns: int, sender: Address, run: Run) -> Steps:
        before = self.reunion.reunion
        out = self._with_words(before, self.state.on_run(now_ns, sender, run))
        self.reunion.on_progress(now_ns)
        waits = self.state.getting is not None or self.reunion.is_merger
        if waits and now_ns - self._told_progress_ns > self._patience_ns // 4:
            self._told_progress_ns = now_ns
            out += self._to_members(StateProgress())
        return out + self._if_failed(out)

    def _if_failed(self, effects: Steps) -> Steps:
        """The transfer to us is over without a state: the others learn of it."""
        failed = next((e.error for e in effects if isinstance(e, StateOver) and e.joiner == self.me), None)
        return [] if failed is None else self.on_loaded(failed)

    def on_loaded(self, error: str | None) -> Steps:
        """The joiner's application holds the state; or it never will."""
        self._has_confirmed = error is None
        self.state.joining = None
        return self._to_members(StateConfirmed(error or ""))

    def on_confirmed(self, sender: Address, confirmed: StateConfirmed) -> Steps:
        """If it gave up, there is nothing more to give."""
        return [*self.state.stop_giving(sender, confirmed.error)] if confirmed.error else []

    def on_progress(self, now_ns: int, sender: Address) -> None:
        """Somebody's state is still coming; if it is the merger's, ours may come later."""
        if self.reunion.reunion is not None and sender == self.reunion.reunion.merger:
            self.reunion.on_progress(now_ns)

    # ---- the reunion of states

    def on_view(self, now_ns: int, message: NewView) -> Steps:
        before, reunion = self.reunion.reunion, message.reunion
        if not (self.state.wants or self.state.joining or before):
            self._lineage.clear()  # Of what came before, this member lacks nothing.
        self._lineage.on_view(message)
        # What the merger gave early is confirmed to the coordinator from here on, not to the one before.
        # All of the new one may be here already, and over.
        effects = [self._with_lineage(effect, reunion) for effect in self.state.on_view(now_ns, message)]
        waits_again = reunion is not None and self.reunion.takes_part and self.me in reunion.lacking
        is_replaced = before is not None and waits_again and reunion is not None and reunion.cut != before.cut
        out = self._with_words(before, effects, message.view.coordinator, reunion if is_replaced else None)
        if self.state.joining is not None:  # Its end, too, can be faster than the view that names the provider.
            out += self._if_failed(out)
        if reunion is not None and reunion.view == message.id and not self.reunion.takes_part:
            out += self._stand_aside(reunion)
        if self._is_mistaken_for_joiner(message):
            out += self._to_members(StateConfirmed())
        early, self.early = self.early, None
        return out if early is None else out + self.on_failed(now_ns, *early, message.view.coordinator)

    def _with_lineage(self, effect: Effect, reunion: Reunion | None) -> Effect:
        """A state that this member is to load, with what it includes of the one order."""
        if isinstance(effect, AwaitState):
            included = self._lineage.included((effect.provider,), effect.view.number)
            return effect._replace(includes=included)
        if isinstance(effect, AwaitMerged) and reunion is not None:
            givers = tuple(side.giver for side in reunion.sides)
            return effect._replace(includes=self._lineage.included(givers, effect.cut.number))
        return effect

    def _is_mistaken_for_joiner(self, message: NewView) -> bool:
        """Whoever made the view had not heard us yet: without another word all would believe that we lack the state."""
        lacking = () if message.reunion is None else message.reunion.lacking
        named = any(transfer.joiner == self.me for transfer in message.transfers)
        return named and self._has_confirmed and self.me not in lacking

    def _stand_aside(self, reunion: Reunion) -> Steps:
        """The group merges states and this member's application does not: nobody shall wait for it."""
        failed = ReunionFailed(reunion.cut, f"{self.me} was given no merge_state")
        if reunion.merger == self.me:
            return self._to_members(failed)
        is_giver = any(side.giver == self.me for side in reunion.sides)
        return [SendReliable(reunion.merger, failed if is_giver else StateConfirmed())]

    def on_states_merged(self, now_ns: int, error: str | None) -> Steps:
        before = self.reunion.reunion
        merged = self.reunion.on_states_merged(now_ns) if error is None else self.reunion.fail(now_ns, error)
        return self._with_words(before, merged)

    def on_failed(
        self, now_ns: int, sender: Address, failed: ReunionFailed, coordinator: Address | None = None
    ) -> Steps:
        """`coordinator`: of the view that comes with it; otherwise of ours."""
        reunion = self.reunion.reunion
        if reunion is None or reunion.cut != failed.cut:
            self.early = (sender, failed)
            return []
        if sender != reunion.merger and not self.reunion.is_merger:
            return []
        return self._with_words(reunion, self.reunion.fail(now_ns, failed.why), coordinator)

    def on_free(self, now_ns: int) -> Steps:
        """A roll call ended without a view."""
        return self._with_words(self.reunion.reunion, self.reunion.on_free(now_ns))

    def on_time(self, now_ns: int) -> Steps:
        return self._with_words(self.reunion.reunion, self.reunion.on_time(now_ns))

    def _with_words(
        self,
        before: Reunion | None,
        effects: list[Effect],
        coordinator: Address | None = None,
        replaced_by: Reunion | None = None,
    ) -> Steps:
        """What the reunion came to; behind it, what others are told, and which coordinator.

        `replaced_by`: another one, in which we wait again. A word about the first would count for the second; and the
        view itself says that the first is over. What follows is about the second, of which all may be here already.
        """
        steps: Steps = [*effects]
        for effect in effects:
            if isinstance(effect, GiveMerged):
                self.state.give_merged(effect)
            if isinstance(effect, MergedOver) and effect.error is None:
                self.state.is_bare = False
            if isinstance(effect, GiveMerged | MergedOver):
                if replaced_by is not None:
                    before, replaced_by = replaced_by, None
                    continue
                error = effect.error if isinstance(effect, MergedOver) else None
                if error is not None and before is not None and before.merger == self.me:
                    steps += self._to_members(ReunionFailed(before.cut, error))
                view = self._view()  # Whom we suspect may be heard again, and still coordinate.
                told = [coordinator or self._membership.acting, None if view is None else view.coordinator]
                steps += [SendReliable(m, StateConfirmed(error or "")) for m in dict.fromkeys(told) if m is not None]
        return steps

    def _to_members(self, message: Control) -> Steps:
        view = self._view()
        return [] if view is None else [SendReliable(member, message) for member in view.members]
