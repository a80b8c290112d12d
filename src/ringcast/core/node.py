"""One member: the place where its components meet. Facts go in, a list of effects comes out.

Components know nothing of each other; this file routes packets to them, keeps their one timer, and turns a send into
runs. `deadline_ns` says when `on_time` wants to be called; any fact may make it earlier. A node is made with a fixed
view, which only `on_view` changes; or with `Node.joining`: then it finds or founds a group with its `coordination`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence

from ringcast.core.admission import TAKEN_OF_MEMBERS, takes
from ringcast.core.control import NOTHING_TO_SETTLE, Heartbeat, Settlement, Staged
from ringcast.core.control.declaration import Sender, State
from ringcast.core.control.streams import ControlStreams, Decode, Encode
from ringcast.core.coordination import Coordination
from ringcast.core.effects import Deliver, Dequeue, Drop, Effect
from ringcast.core.entrance import PLAIN, Entrance, RandomSource
from ringcast.core.multicast import NO_NOTES, GivingUp, Multicast, PeerStreams, largest_whole, pieces_of, run_budget
from ringcast.core.ordering_streams import OrderingStreams
from ringcast.core.packets import Ack, Channel, Highest, Loose, Packet, Request, Reset, Run, Unrepairable, described
from ringcast.errors import UsageError
from ringcast.model import Address, Config, Mark, View, ViewId
from ringcast.window import NO_SPACE, Space

# Asked for every packet, where a name of this module costs a tenth of looking a member up in its enum.
_GROUP, _PEER, _CONTROL, _STATE = Channel.GROUP, Channel.PEER, Channel.CONTROL, Channel.STATE


class Node:
    """A member of a group, or a process on its way into one."""

    def __init__(
        self,
        me: Address,
        config: Config,
        view: View | None = None,
        offsets: Mapping[Address, int] | None = None,
        *,
        multicasts: bool = False,
    ) -> None:
        if view is not None and me not in view:
            raise UsageError(f"{me} is not in its own view {view}")
        self.me, self.config = me, config
        self.multicasts = multicasts  # the transport reaches everybody with one packet
        self._budget = run_budget(config.frame_bytes, me, ViewId(0, me))
        self.largest_whole = largest_whole(config, self._budget)
        self.peers = PeerStreams(Channel.PEER, me, config, config.stream_capacity)
        self.giving_up = GivingUp(self.peers, config.resumer_ns)
        self.order = OrderingStreams(self, config, self._budget)
        self.coordination: Coordination | None = None
        self._group: Multicast | None = None
        if view is not None:
            self._group = Multicast(me, config, view, offsets or {}, multicasts=multicasts)
            self.order.on_view(view)
        self._early: deque[tuple[Address, Run]] = deque(maxlen=config.early_packets)  # runs before the first view
        self.next_interval_ns: int | None = None
        self._records = True

    @classmethod
    def joining(
        cls,
        me: Address,
        config: Config,
        random: RandomSource,
        encode: Encode,
        decode: Decode,
        entrance: Entrance = PLAIN,
        *,
        multicasts: bool = False,
    ) -> Node:
        """A process without a group, on its way into one."""
        node = cls(me, config, multicasts=multicasts)
        control = ControlStreams(me, config, node._budget, encode, decode)
        node.coordination = Coordination(node, random, control, entrance)
        return node

    # ---- life

    @property
    def group(self) -> Multicast:
        if self._group is None:
            raise UsageError(f"{self.me} is in no group yet")
        return self._group

    @property
    def has_group(self) -> bool:
        return self._group is not None

    @property
    def view(self) -> View:
        return self.group.view

    @property
    def mark(self) -> Mark | None:
        """What this member knows of primary views; None without that policy."""
        return None if self.coordination is None else self.coordination.membership.primacy.mark

    @property
    def coordinator(self) -> Address | None:
        """Return the acting coordinator; None if only observers are left, as far as we know."""
        lacks = self.coordination is not None and self.coordination.membership.lacks_coordinator
        return None if lacks else self.view.coordinator

    @property
    def may_go_on(self) -> bool:
        """False: this side is not primary, or only observers are left in it; nothing new is taken."""
        if self._group is None:
            return True
        is_led = self.coordination is None or not self.coordination.membership.lacks_coordinator
        return is_led and self._group.view.is_carried

    def record(self, *, contents: bool, runs: bool = True) -> None:
        """Events carry a digest of the `contents`? Those of each multicast run (`runs`) are read by somebody?"""
        self.peers.contents, self._records = contents, runs
        if self._group is not None:
            self._group.contents, self._group.records = contents, runs

    def begin(self, now_ns: int) -> list[Effect]:
        others = self.coordination
        return self.group.begin(now_ns) if others is None else others.carry_out(now_ns, others.membership.begin(now_ns))

    def on_discovered(self, now_ns: int, endpoints: Iterable[str], *, is_all: bool = False) -> list[Effect]:
        """Somebody may be found at these endpoints."""
        return [] if self.coordination is None else self.coordination.on_discovered(now_ns, endpoints, is_all)

    def on_undiscovered(self, why: str) -> None:
        """It could not be found out where others are: this process founds no group meanwhile."""
        if self.coordination is not None and self.coordination.membership.joiner is not None:
            self.coordination.membership.joiner.on_undiscovered(why)

    def let_found(self) -> None:
        """This process may found a group after all."""
        if self.coordination is not None and self.coordination.membership.joiner is not None:
            self.coordination.membership.joiner.founds = True

    def leave(self, now_ns: int) -> list[Effect]:
        """The application goes. `Left` follows, when all have what was sent, or at the limit."""
        others = self.coordination
        return [] if others is None else others.carry_out(now_ns, others.membership.leave(now_ns))

    def suspect(self, now_ns: int, member: Address) -> list[Effect]:
        """Somebody outside says that this member is dead."""
        others = self.coordination
        return [] if others is None else others.carry_out(now_ns, others.detector.suspect(now_ns, member))

    def on_view(
        self,
        now_ns: int,
        view: View,
        offsets: Mapping[Address, int],
        notes: Mapping[str, object] = NO_NOTES,
        settlement: Settlement = NOTHING_TO_SETTLE,
    ) -> list[Effect]:
        """Install a view: settle the order, then digest, view, release of held sends. `notes` are for the recording."""
        self.wake(now_ns)
        settled = self.order.settle(now_ns, settlement)
        if self._group is not None:
            told = self._group.on_view(now_ns, view, offsets, notes)
        else:
            self._group = Multicast(self.me, self.config, view, offsets, multicasts=self.multicasts)
            self._group.contents, self._group.records = self.peers.contents, self._records
            told = self._group.begin(now_ns, notes)
        while self._early:
            sender, run = self._early.popleft()
            told += self._group.on_run(now_ns, sender, run)
        self.order.on_view(view)
        return settled + self.order.sift(now_ns, told)

    # ---- the application sends

    def space(self) -> Space:
        """Return the room for multicasts now: none before the first view, and none on a side that is not primary."""
        return self._group.space() if self._group is not None and self._may_send else NO_SPACE

    @property
    def _may_send(self) -> bool:
        """Under the primary policy in a primary view only; one may be on its way."""
        return self._group is not None and self._group.view.is_primary

    def own_room(self) -> int:
        """How many more own messages may wait to be read."""
        return 0 if self._group is None else self._group.own_room()

    def widen_own(self) -> None:
        """The application's only reader waits to send: let its own messages wait beyond the capacity (Y07)."""
        if self._group is not None:
            self._group.widen_own()
            self.order.ordering.widen_own()

    def await_room(self, count: int) -> None:
        """Somebody waits until so many messages may be multicast: `Freed` comes as soon as that may be so."""
        if self._group is not None:
            self._group.await_room(count)

    def send(self, now_ns: int, payloads: list[bytes], sizes: Sequence[int]) -> list[Effect]:
        """Multicast messages that each fit a frame; `space` has room for all of them."""
        self.wake(now_ns)
        return self.group.send(now_ns, payloads, sizes)

    def pieces(self, nbytes: int) -> int:
        return max(1, -(-nbytes // self.largest_whole))

    def send_large(self, now_ns: int, payload: bytes) -> list[Effect]:
        """Multicast one message in pieces; `space` takes them together."""
        self.wake(now_ns)
        items = pieces_of(payload, self._budget)
        return self.group.send(now_ns, items, list(map(len, items)), [payload])

    def may_send_to(self, peers: list[Address], nbytes: int) -> bool:
        return self._may_send and self.peers.may_send(peers, self.pieces(nbytes), nbytes)

    def send_to(self, now_ns: int, peers: list[Address], payload: bytes) -> list[Effect]:
        """One message to some peers, on the stream of each; `may_send_to` said yes."""
        self.wake(now_ns)
        whole = len(payload) <= self.largest_whole
        for peer in peers:
            self.peers.sent[peer] = self.peers.sent.get(peer, 0) + 1
        return self.peers.send(now_ns, peers, [payload] if whole else pieces_of(payload, self._budget))

    def fit_in_order(self, sizes: list[int], to: list[Address] | None) -> int:
        """How many of the leading messages may be queued now, as one batch, for the view or for some of it."""
        return self.order.fit(sizes, to) if self._may_send else 0

    def queue(self, now_ns: int, payloads: list[bytes], to: list[Address] | None) -> tuple[int, list[Effect]]:
        """(number of the first, effects): a batch in the one order; `fit_in_order` said yes."""
        self.wake(now_ns)
        return self.order.queue(now_ns, payloads, to)

    def flush(self, now_ns: int) -> list[Effect]:
        """Call once per wake, behind all its facts: what the order has to say about them, together."""
        return self.order.flush(now_ns)

    # ---- the application reads

    def on_taken(self, now_ns: int, delivery: Deliver) -> list[Effect]:
        self.wake(now_ns)
        if isinstance(delivery, Dequeue):
            return self.order.on_read(now_ns, delivery)
        if delivery.channel is _GROUP:
            return self.group.on_taken(now_ns, delivery)
        if delivery.channel is _STATE and self.coordination is not None:
            return self.coordination.state.streams.on_taken(now_ns, delivery)
        return self.peers.on_taken(now_ns, delivery)

    def on_spooled(self, now_ns: int, delivery: Deliver) -> list[Effect]:
        """It went into this joiner's spool: for its sender it counts as taken (G15)."""
        self.wake(now_ns)
        if isinstance(delivery, Dequeue):
            return self.order.on_spooled(now_ns, delivery)
        return self.on_taken(now_ns, delivery)

    def on_spool_void(self, ordered_left: int) -> None:
        """Count only so many ordered messages of the spool as still to be read: a state has the others."""
        self.order.ordering.on_spool_void(ordered_left)

    # ---- the application's state

    def may_give_state(self, joiner: Address, view: ViewId, nbytes: int) -> bool:
        """Is there room for a chunk of this size? No, too, when the transfer is over."""
        return self.coordination is not None and self.coordination.state.may_give(joiner, view, nbytes)

    def give_state(self, now_ns: int, joiner: Address, chunk: bytes) -> list[Effect]:
        self.wake(now_ns)
        return [] if self.coordination is None else self.coordination.state.give(now_ns, joiner, chunk)

    def end_state(self, now_ns: int, joiner: Address, view: ViewId, error: str | None = None) -> list[Effect]:
        self.wake(now_ns)
        return [] if self.coordination is None else self.coordination.state.end(now_ns, joiner, view, error)

    def on_state_loaded(self, now_ns: int, error: str | None = None) -> list[Effect]:
        """The joiner's application has the state; with an error: it could not load it."""
        others = self.coordination
        return [] if others is None else others.carry_out(now_ns, others.exchange.on_loaded(error))

    def on_states_merged(self, now_ns: int, error: str | None = None) -> list[Effect]:
        """The merger's application made one state of all sides (`GiveMerged` follows); with an error: it could not."""
        self.wake(now_ns)
        others = self.coordination
        return [] if others is None else others.carry_out(now_ns, others.exchange.on_states_merged(now_ns, error))

    def on_mark_kept(self, now_ns: int, number: int) -> list[Effect]:
        """What `KeepMark` of this number ordered is done."""
        self.wake(now_ns)
        others = self.coordination
        return [] if others is None else others.carry_out(now_ns, others.membership.on_mark_kept(now_ns, number))

    # ---- packets

    def on_packet(self, now_ns: int, sender: Address, packet: Packet) -> list[Effect]:
        group, channel = self._group, packet.channel
        if type(packet) is not Run or channel is not _GROUP:
            # Others with a multicast stream are members; who is none, or is asked more, costs the longer way.
            is_member = group is not None and sender in group.incoming
            what = type(packet.message) if type(packet) is Loose else channel
            if not (is_member and what in TAKEN_OF_MEMBERS) and not self._takes(sender, packet):
                return [Drop(f"{described(packet)}, not taken from this process now", sender)]
        if self.next_interval_ns is None and not (type(packet) is Loose and type(packet.message) is Heartbeat):
            self.wake(now_ns)  # A heartbeat leaves nothing to be acked or repeated.
        if type(packet) is Run:
            out = self.order.sift(now_ns, self._on_run(now_ns, sender, packet))
        elif type(packet) is Loose:
            out = self._on_loose(now_ns, sender, packet)
        elif (streams := group if channel is _GROUP else self._streams(channel)) is None:
            out = []
        elif type(packet) is Ack:
            out = streams.on_ack(now_ns, sender, packet)
        elif type(packet) is Highest:
            out = streams.on_highest(now_ns, sender, packet)
        else:
            out = self._on_trouble(now_ns, sender, packet, streams)
        return out if self.coordination is None else self.coordination.after_packet(now_ns, sender, out)

    def _takes(self, sender: Address, packet: Packet) -> bool:
        others = self.coordination
        if others is not None:
            return takes(packet, others.who_is(sender), others.admission_state)
        who = Sender.MEMBER if self._group is not None and sender in self._group.view else Sender.OUTSIDER
        return takes(packet, who, State.LOOKING if self._group is None else State.IN_VIEW)

    def _on_run(self, now_ns: int, sender: Address, run: Run) -> list[Effect]:
        if run.channel is _GROUP:
            if self._group is None:
                self._early.append((sender, run))
                return []
            return self._group.on_run(now_ns, sender, run)
        if run.channel is _PEER:
            return self.peers.on_run(now_ns, sender, run)
        others = self.coordination
        if others is None or run.channel is _CONTROL:
            return [] if others is None else others.on_run(now_ns, sender, run)
        return others.carry_out(now_ns, others.exchange.on_run(now_ns, sender, run))

    def _on_trouble(
        self, now_ns: int, sender: Address, packet: Packet, streams: Multicast | PeerStreams
    ) -> list[Effect]:
        """Something was lost: it is asked for, or no longer there, or its stream begins again."""
        if isinstance(packet, Request):
            return streams.on_request(now_ns, sender, packet)
        if isinstance(packet, Unrepairable):
            return streams.on_unrepairable(sender, packet)
        if not isinstance(packet, Reset) or not isinstance(streams, PeerStreams):
            return [Drop("a reset of the multicast", sender)]
        return streams.on_reset(now_ns, sender, packet)

    def _on_loose(self, now_ns: int, sender: Address, packet: Loose) -> list[Effect]:
        if type(packet.message) is Staged:
            return self.order.on_staged(now_ns, sender, packet.message)
        return [] if self.coordination is None else self.coordination.on_message(now_ns, sender, packet.message)

    def _streams(self, channel: Channel) -> PeerStreams | None:
        if channel is _PEER:
            return self.peers
        others = self.coordination
        if others is None:
            return None
        return others.control.streams if channel is _CONTROL else others.state.streams

    # ---- time

    def deadline_ns(self) -> int | None:
        interval_ns, others = self.next_interval_ns, self.coordination
        if others is None or others.membership.is_over:
            return interval_ns
        first_ns = others.deadlines.first_ns
        return interval_ns if first_ns is None or (interval_ns is not None and interval_ns < first_ns) else first_ns

    def on_time(self, now_ns: int) -> list[Effect]:
        """Called at or after the deadline. Quiet when idle: without work there is no deadline."""
        out = [] if self.coordination is None else self.coordination.on_time(now_ns)
        if self.next_interval_ns is None or now_ns < self.next_interval_ns:
            return out
        group, peers, others = self._group, self.peers, self.coordination
        ordering = self.order.ordering
        if group is not None:
            out += group.on_interval(now_ns)
        if not peers.is_quiet:
            out += peers.on_interval(now_ns)
        if ordering.is_at_work:
            out += self.order.on_interval(now_ns)
        if others is not None:
            out += others.on_interval(now_ns)
        if not peers.is_quiet or self.giving_up.progress:
            out += self.giving_up.on_interval(now_ns, None if group is None else group.view)
        is_idle = (group is None or group.is_idle) and (peers.is_quiet or peers.is_idle) and ordering.is_idle
        is_idle = is_idle and (others is None or others.is_idle)
        self.next_interval_ns = None if is_idle else now_ns + self.config.xmit_interval_ns
        return out

    def wake(self, now_ns: int) -> None:
        if self.next_interval_ns is None:
            self.next_interval_ns = now_ns + self.config.xmit_interval_ns

    def check(self) -> None:
        """Every invariant; the simulator calls this after every input."""
        for part in (self._group, self.peers, self.order.ordering, self.coordination):
            if part is not None:
                part.check()
