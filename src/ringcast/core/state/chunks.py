"""The state of the application on its way from a provider to a joiner, in bounded chunks on a stream of its own.

    provider: ProvideState stands behind the view in the application's order; `give` chunk by chunk, then `end`
    joiner:   AwaitState stands behind the view; chunks arrive as deliveries of the STATE channel, then StateOver

Back-pressure is the stream's window: a chunk that the joiner's application has not read holds the provider back, so
memory stays flat whatever the size of the state. Chunks name the view at which they were cut; others are dropped.
After a MergeView the state of each side goes to the merger, and the merged one to all (merging.py), the same way.
Not the state itself: what it means is the application's, when it may begin is the view's.
"""

from __future__ import annotations

from collections.abc import Callable

from ringcast.core.control import NewView, Transfer
from ringcast.core.effects import AwaitState, Deliver, Drop, Effect, GiveMerged, ProvideState, StateOver
from ringcast.core.multicast import GivingUp, PeerStreams
from ringcast.core.packets import Channel, Run
from ringcast.core.state.merging import StateMerging
from ringcast.errors import UsageError
from ringcast.model import Address, Config, View, ViewId

HEAD_BYTES = 9  # kind, view number
MAX_ERROR_BYTES = 200
NOBODY_HAS_IT = "nobody in the view has the state"
_CHUNK, _END, _FAILED = range(3)
_SIDE = 3  # added: of the state of one side of a merge, for the merger


class StateChunks:
    """What this member gives to joiners, and what it gets if it is one."""

    def __init__(
        self,
        me: Address,
        config: Config,
        largest_whole: int,
        reunion: StateMerging,
        view: Callable[[], View | None],
    ) -> None:
        self.me = me
        self.reunion = reunion
        self.streams = PeerStreams(Channel.STATE, me, config, config.control_capacity)
        self.giving_up = GivingUp(self.streams, config.resumer_ns)
        self.chunk_bytes = largest_whole - HEAD_BYTES
        self.giving: dict[Address, Transfer] = {}
        self.ends: dict[Address, str | None] = {}  # ends that found no room yet
        self.getting: Transfer | None = None
        self.early: list[Deliver] = []  # chunks that came before the view they belong to
        self._view = view
        self._side: Transfer | None = None  # of the state of our side of a merge, to the merger
        self.wants = False  # this process joins with state and has not got it
        self.is_bare = False  # a merge came before the state it joined with
        self.joining: Transfer | None = None  # the last that was begun, until our application has loaded the state

    # ---- views

    def on_view(self, now_ns: int, message: NewView) -> list[Effect]:
        """Which transfers begin or end with this view."""
        out: list[Effect] = []
        for joiner in [joiner for joiner in self.giving if joiner not in message.members]:
            out += self.stop_giving(joiner, "the joiner is gone")
        # Where states become one, a joiner gets the merged one: under the same name no other may be given.
        reunites = message.reunion is not None and message.reunion.view == message.id
        for transfer in () if reunites else message.transfers:
            if transfer.view == message.id and transfer.provider == self.me:
                self._provide(transfer)
                out.append(ProvideState(transfer.joiner, message.id))
            if transfer.view == message.id and transfer.joiner == self.me and self.wants:
                out += self._begin(now_ns, transfer)
        return out + self._unprovided(message) + self._on_reunion(now_ns, message) + self._on_early(now_ns)

    def on_departed(self, now_ns: int, previous: View | None, view: View) -> list[Effect]:
        """Nothing is kept for those whom this view removed, or of what they gave."""
        gone = () if previous is None else [member for member in previous.members if member not in view]
        self.early = [delivery for delivery in self.early if delivery.origin not in gone]
        return self.giving_up.on_view(now_ns, previous, view)

    def _on_reunion(self, now_ns: int, message: NewView) -> list[Effect]:
        out, source = self.reunion.on_view(now_ns, message)
        reunion = self.reunion.reunion
        self.is_bare = reunion is not None and (self.is_bare or self.joining is not None)
        if source is not None:
            self.getting, self.wants, self.joining = source, False, None
        if reunion is not None and reunion.view == message.id and self.reunion.gives:
            self._side = Transfer(reunion.merger, self.me, reunion.view)
            self._provide(self._side)
        return out

    def give_merged(self, merged: GiveMerged) -> None:
        """We are the merger, and the merged state counts: these may be given it."""
        for member in merged.members:
            self._provide(Transfer(member, self.me, merged.view))

    def _on_early(self, now_ns: int) -> list[Effect]:
        """Chunks that were faster than this view."""
        early, self.early = self.early, []
        out: list[Effect] = []
        for delivery in early:
            out += self._sorted(now_ns, delivery)
        return out

    def _unprovided(self, message: NewView) -> list[Effect]:
        if not self.wants or any(transfer.joiner == self.me for transfer in message.transfers):
            return []
        is_first = len(message.members) == 1 and self.getting is None  # Else half a state would pass for a whole one.
        self.wants, self.getting, self.joining = False, None, None
        # Whoever leads a side of a merge names providers of that side: the others may have the state, and another one.
        why = "a merge came first, and nobody of this side of it has the state" if message.subgroups else NOBODY_HAS_IT
        return [StateOver(self.me, None if is_first else why)]

    # ---- the provider

    def stop_giving(self, joiner: Address, why: str) -> list[Effect]:
        """It will not take any more of it."""
        self.ends.pop(joiner, None)
        return [] if self.giving.pop(joiner, None) is None else [StateOver(joiner, why)]

    def _provide(self, transfer: Transfer) -> None:
        """It replaces what was given to the same member before, whose chunks and end are not said any more."""
        self.giving[transfer.joiner] = transfer
        self.ends.pop(transfer.joiner, None)

    def may_give(self, joiner: Address, view: ViewId, nbytes: int) -> bool:
        return self.gives(joiner, view) and self._has_room(joiner, nbytes)

    def gives(self, joiner: Address, view: ViewId) -> bool:
        """Is the transfer that this view named under way?"""
        transfer = self.giving.get(joiner)
        return transfer is not None and transfer.view == view

    def _has_room(self, joiner: Address, nbytes: int) -> bool:
        return self.streams.may_send([joiner], 1, nbytes + HEAD_BYTES)

    def give(self, now_ns: int, joiner: Address, chunk: bytes) -> list[Effect]:
        """The next part of the state; `may_give` said yes."""
        if len(chunk) > self.chunk_bytes:
            raise UsageError(f"a chunk of {len(chunk)} bytes; at most {self.chunk_bytes} fit a frame")
        return self._send(now_ns, joiner, _CHUNK, chunk)

    def end(self, now_ns: int, joiner: Address, view: ViewId, error: str | None = None) -> list[Effect]:
        """That was all; or the application could not go on, and the joiner learns why."""
        if not self.gives(joiner, view):
            return []
        if not self._has_room(joiner, MAX_ERROR_BYTES):
            self.ends[joiner] = error  # Behind the chunks on their way; see `on_interval`.
            return []
        self.ends.pop(joiner, None)
        kind, text = (_END, "") if error is None else (_FAILED, error)
        out = self._send(now_ns, joiner, kind, text.encode()[:MAX_ERROR_BYTES])
        del self.giving[joiner]
        return [*out, StateOver(joiner, error)]

    def on_interval(self, now_ns: int, view: View | None) -> list[Effect]:
        out = self.giving_up.on_interval(now_ns, view)
        for joiner, error in list(self.ends.items()):
            out += self.end(now_ns, joiner, self.giving[joiner].view, error)
        return out + self.streams.on_interval(now_ns)

    def _send(self, now_ns: int, joiner: Address, kind: int, body: bytes) -> list[Effect]:
        if self.giving[joiner] == self._side:
            kind += _SIDE
        head = bytes([kind]) + self.giving[joiner].view.number.to_bytes(8, "little")
        return self.streams.send(now_ns, [joiner], [head + body])

    # ---- the joiner

    def on_run(self, now_ns: int, sender: Address, run: Run) -> list[Effect]:
        out: list[Effect] = []
        for effect in self.streams.on_run(now_ns, sender, run):
            if not isinstance(effect, Deliver):
                out.append(effect)
            else:
                out += self._sorted(now_ns, effect)
        return out

    def _sorted(self, now_ns: int, delivery: Deliver) -> list[Effect]:
        number = int.from_bytes(delivery.payloads[-1][1:HEAD_BYTES], "little")
        view = self._view()
        is_early = view is None or number > view.id.number
        if is_early and (self.wants or self.reunion.takes_part):
            self.early.append(delivery)  # Not acked yet, so the window bounds it.
            return []
        return self._parts(now_ns, delivery)

    def _begin(self, now_ns: int, transfer: Transfer) -> list[Effect]:
        """The view that names our provider."""
        self.getting = self.joining = transfer
        return [AwaitState(transfer.provider, transfer.view)]

    def _parts(self, now_ns: int, delivery: Deliver) -> list[Effect]:
        """One delivery of chunks for the application, then what else was said."""
        chunks: list[bytes] = []
        said: list[Effect] = []
        for payload in delivery.payloads:
            if len(payload) < HEAD_BYTES:
                said.append(Drop("a part of a state without its head", delivery.origin))
                continue
            kind, number, body = payload[0], int.from_bytes(payload[1:HEAD_BYTES], "little"), payload[HEAD_BYTES:]
            if not self._is_awaited(kind >= _SIDE, delivery.origin, number):
                said.append(Drop("a part of a state that nobody waits for", delivery.origin))
            elif kind % _SIDE == _CHUNK:
                chunks.append(body)
            elif kind >= _SIDE:
                said += self.reunion.on_side_over(now_ns, delivery.origin, _error_in(kind - _SIDE, body))
            else:
                said += self._over(now_ns, _error_in(kind, body))
        delivery.payloads = chunks
        return [delivery, *said] if chunks else [*self.streams.on_taken(now_ns, delivery), *said]

    def _is_awaited(self, of_side: bool, origin: Address, number: int) -> bool:
        if of_side:
            return self.reunion.awaits_side(origin, number)
        getting = self.getting if self.wants or self.reunion.reunion is not None else None
        return getting is not None and getting.provider == origin and getting.view.number == number

    def _over(self, now_ns: int, error: str | None) -> list[Effect]:
        self.getting, self.wants = None, False
        if self.reunion.reunion is not None:
            return self.reunion.on_end(now_ns, error)
        return [StateOver(self.me, error)]


def _error_in(kind: int, body: bytes) -> str | None:
    return None if kind == _END else body.decode(errors="replace") or "the provider failed"
