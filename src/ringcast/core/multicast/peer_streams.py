"""Reliable streams between two incarnations, on the same windows as the multicast: unicast, subsets, control.

A stream belongs to (my incarnation, the peer's incarnation, epoch), not to a view, so it works between members,
joiners and strangers alike. Each packet carries the epoch; a newer epoch that begins at its first message starts
a new window; what cannot be understood is answered with RESET, and the sender begins again under a new epoch.
A message to a subset goes on the stream of each destination, after room was found on all of them.
Bounded: at most `MAX_PEERS` streams in each direction. Only one that owes nothing makes room for another: going out,
everything was acked; coming in, everything was read and acked, and no message is there in part. Of one that came in it
is remembered how far it had come: its sender may lack the last ack and repeat itself (G1). While there is none, a
new stream is not begun (`may_send` says no) or not listened to (its sender repeats itself).
Not retaining: nobody repairs a pair stream but its sender.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ringcast.core.effects import Deliver, Drop, Effect, Freed, Sealed, Unicast
from ringcast.core.multicast.gap_requests import asked
from ringcast.core.multicast.outside_budget import OutsideBudget
from ringcast.core.multicast.packing import ack_pace, content_of_items
from ringcast.core.multicast.stream import Incoming, Outgoing
from ringcast.core.packets import Ack, Channel, Highest, Request, Reset, Run, Unrepairable
from ringcast.model import INCOMPLETE, STREAMS_PER_EPOCH, Address, Config, Event, Kind, View, content_of

MAX_PEERS = 1024
MAX_SETTLED = 16_384  # streams that made room for others and are remembered by how far they had come
assert len(Channel) == STREAMS_PER_EPOCH, "stream numbers of recordings would change"


class PeerStreams:
    """All streams of one channel (PEER or CONTROL) from and to this member."""

    def __init__(
        self,
        channel: Channel,
        me: Address,
        config: Config,
        capacity: int,
        largest_message: int | None = None,
        window_bytes: int | None = None,
    ) -> None:
        self.channel = channel
        self.me = me
        self.config = config
        self.capacity = capacity
        self._largest_message = largest_message or config.max_message_bytes
        self._window_bytes = window_bytes or config.window_bytes
        self._pace = ack_pace(capacity, config.window_bytes)  # until a view says otherwise
        self.outgoing: dict[Address, Outgoing] = {}
        self.incoming: dict[Address, Incoming] = {}
        self._settled: dict[Address, tuple[int, int]] = {}  # epoch and last of streams that made room for others
        self.sent: dict[Address, int] = {}  # messages of the application to each peer since it came (PEER)
        self.contents = False  # record what runs carry
        self._epoch = 0
        self.is_quiet = True  # at the last interval nothing was owed, and nothing has come or gone since
        self.budget: OutsideBudget | None = None  # for streams of processes outside the view

    # ---- sending

    def _to(self, peer: Address, beside: Sequence[Address]) -> Outgoing:
        """The stream to this peer; begun if there is none yet, with those to `beside` kept."""
        stream = self.outgoing.get(peer)
        if stream is not None:
            return stream
        if len(self.outgoing) >= MAX_PEERS:
            del self.outgoing[next(p for p, s in self.outgoing.items() if s.is_idle and p not in beside)]
        self._epoch += 1
        stream = self.outgoing[peer] = Outgoing(
            self.channel,
            self._epoch,
            self.me,
            {peer: 0},
            capacity=self.capacity,
            window_bytes=self._window_bytes,
            frame_bytes=self.config.frame_bytes,
        )
        return stream

    def may_send(self, peers: list[Address], count: int, nbytes: int) -> bool:
        """Is there room on the stream of every destination?"""
        return not self.full(peers, count, nbytes)

    def full(self, peers: Sequence[Address], count: int, nbytes: int) -> list[Address]:
        """Those of the peers on whose streams one message, of so many items and bytes, has no room now."""
        full, begun = [], 0
        for peer in peers:
            stream = self.outgoing.get(peer)
            if stream is None:
                begun += 1
                if count > self.capacity or not self._may_begin(begun, peers):
                    full.append(peer)
            elif not stream.window.space.takes(count, nbytes, together=True):
                full.append(peer)
        return full

    def _may_begin(self, count: int, beside: Sequence[Address]) -> bool:
        """Is there a place for so many new streams, with those to `beside` kept?"""
        if len(self.outgoing) + count <= MAX_PEERS:
            return True
        idle = sum(stream.is_idle and peer not in beside for peer, stream in self.outgoing.items())
        return len(self.outgoing) + count - idle <= MAX_PEERS

    def send(self, now_ns: int, peers: list[Address], items: list[bytes]) -> list[Effect]:
        """One message (as its items) to each of these peers; there was room on all."""
        self.is_quiet = False
        out: list[Effect] = []
        sizes = list(map(len, items))
        for peer in peers:
            stream = self._to(peer, peers)
            runs = stream.send(items, sizes, together=True)
            window = stream.window
            number, first, count = self.stream_id(stream), window.high - len(items) + 1, len(items)
            sent = Event(Kind.SEND, now_ns, None, peer, number, first, count, 0, window.occupancy, window.low)
            if self.contents:
                sent.content = content_of_items(first, items)
            out.append(sent)
            out += [Unicast(peer, run) for run in runs]
        return out

    def stream_id(self, stream: Outgoing | Incoming) -> int:
        """Stream numbers in the recording: the epoch and the channel; 0 is the multicast."""
        assert isinstance(stream.tag, int)
        return stream.tag * STREAMS_PER_EPOCH + self.channel

    # ---- receiving

    def on_view(self, view: View) -> None:
        """Acks come often enough for the narrowest window of bytes in the view.

        A sender with less than the quarter of ours would else wait for our interval with each windowful (seed 210363).
        """
        narrowest = min(self.config.window_bytes, view.window_bytes or self.config.window_bytes)
        self._pace = ack_pace(self.capacity, narrowest)
        for incoming in self.incoming.values():
            incoming.ack_after, incoming.ack_bytes = self._pace

    def on_run(self, now_ns: int, sender: Address, run: Run) -> list[Effect]:
        assert isinstance(run.tag, int)
        self.is_quiet = False
        incoming = self.incoming.get(sender) or self._resumed(sender, run.tag)
        if incoming is None or run.tag != incoming.tag:
            known = self._settled.get(sender, (0, 0))[0] if incoming is None else incoming.tag
            assert isinstance(known, int)
            if run.tag == known and incoming is None:
                return [Drop("a run of one stream too many", sender, len(run.items))]
            if run.tag < known or run.low > 0:
                return [
                    Drop("a run of a stream that began without us", sender, len(run.items)),
                    self._reset(sender, run.tag),
                ]
            if not self._may_listen(sender):
                return [Drop("a run of one stream too many", sender, len(run.items))]
            incoming = self._listen(sender, run.tag)
        out: list[Effect] = []
        budget = self.budget if self.budget is not None and self.budget.is_outside(sender) else None
        admitted = incoming.on_run(run)
        if incoming.window.is_orphaned:
            return self._broken(incoming)
        if admitted.new:
            self._hand_out(now_ns, out, incoming)
        if budget is not None:
            out += self._account(budget, sender, incoming.held_bytes)
        if admitted.old or admitted.duplicate:
            out.append(Drop("a duplicate", sender, admitted.old + admitted.duplicate))
            if admitted.old and not admitted.new:
                out.append(Unicast(sender, incoming.ack()))
        if admitted.beyond:
            out.append(Drop("beyond the window", sender, admitted.beyond))
        return out

    def _broken(self, incoming: Incoming) -> list[Effect]:
        """The sender has purged what we never had: told, and begun again, never a silent stall (X8)."""
        assert isinstance(incoming.tag, int)
        del self.incoming[incoming.origin]
        if self.budget is not None:
            self._account(self.budget, incoming.origin, 0)
        return [
            Drop(f"a stream purged beyond the {incoming.window.ready} that were received", incoming.origin),
            self._reset(incoming.origin, incoming.tag),
        ]

    def _account(self, budget: OutsideBudget, sender: Address, nbytes: int) -> list[Effect]:
        shed = budget.note(self.channel, sender, nbytes, self._forget_incoming)
        return [Drop("a stream that held too much for a process outside the view", peer) for peer in shed]

    def _forget_incoming(self, sender: Address) -> None:
        self.incoming.pop(sender, None)

    def _reset(self, sender: Address, epoch: int) -> Unicast:
        return Unicast(sender, Reset(self.channel, epoch))

    def _may_listen(self, sender: Address) -> bool:
        """Is there a place for a stream from this one? Makes room if it takes that."""
        if sender in self.incoming or len(self.incoming) < MAX_PEERS:
            return True
        settled = next((peer for peer, stream in self.incoming.items() if stream.is_settled), None)
        if settled is not None:
            stream = self.incoming.pop(settled)
            assert isinstance(stream.tag, int)
            self._settled.pop(settled, None)
            self._settled[settled] = (stream.tag, stream.window.ready)
            if len(self._settled) > MAX_SETTLED:
                del self._settled[next(iter(self._settled))]
        return settled is not None

    def _resumed(self, sender: Address, epoch: int) -> Incoming | None:
        """The stream of this epoch that made room for another, if there is room for it again."""
        known = self._settled.get(sender)
        if known is None or known[0] != epoch or not self._may_listen(sender):
            return None
        return self._listen(sender, *known)

    def _listen(self, sender: Address, epoch: int, offset: int = 0) -> Incoming:
        self._settled.pop(sender, None)
        incoming = Incoming(
            self.channel,
            epoch,
            sender,
            self.me,
            self.config,
            self.capacity,
            self._pace,
            max_message_bytes=self._largest_message,
            offset=offset,
            retain=False,
        )
        self.incoming[sender] = incoming
        return incoming

    def _hand_out(self, now_ns: int, out: list[Effect], incoming: Incoming) -> None:
        first, count, payloads, ends, too_large = incoming.take_ready()
        if too_large:
            out.append(Drop("a message above max_message_bytes", incoming.origin, too_large))
        if not count:
            return
        stream = self.stream_id(incoming)
        held = incoming.window.occupancy
        event = Event(Kind.DELIVER, now_ns, None, incoming.origin, stream, first, count, 0, held, self.capacity)
        if self.contents:
            event.content = INCOMPLETE if too_large else content_of(first, payloads, ends)
        out.append(event)
        assert isinstance(incoming.tag, int)
        nbytes = sum(map(len, payloads))
        delivery = Deliver(incoming.origin, self.channel, payloads, first, count, nbytes, incoming.tag, ends=ends)
        sealed = incoming.unseal(delivery)
        if incoming.is_for_reading(delivery):
            out.append(delivery)
        elif delivery.count:
            out += self.on_taken(now_ns, delivery, for_nobody=1)
        if sealed:
            out.append(Sealed(incoming.origin, self.channel, sealed))

    def on_taken(self, now_ns: int, delivery: Deliver, for_nobody: int = 0) -> list[Effect]:
        incoming = self.incoming.get(delivery.origin)
        if incoming is None or incoming.tag != delivery.epoch:
            return []  # The stream began anew meanwhile; what was read belonged to the old one.
        self.is_quiet = False
        ack = incoming.on_taken(delivery)
        shed: list[Effect] = []
        if self.budget is not None and self.budget.is_outside(delivery.origin):
            shed = self._account(self.budget, delivery.origin, incoming.held_bytes)
        stream, first, count = self.stream_id(incoming), delivery.first, delivery.count
        taken = Event(Kind.TAKEN, now_ns, None, delivery.origin, stream, first, count, 0, for_nobody)
        if ack is None:
            return [taken, *shed]
        refused = incoming.gaps.claim(incoming.window, incoming.tag)
        claim = [] if refused is None else asked(now_ns, None, delivery.origin, stream, refused)
        return [taken, Unicast(delivery.origin, ack), *claim, *shed]

    # ---- acks and repair

    def on_ack(self, now_ns: int, sender: Address, ack: Ack) -> list[Effect]:
        self.is_quiet = False
        stream = self.outgoing.get(sender)
        if stream is None or stream.tag != ack.tag:
            return [Drop("an ack for a stream that is over", sender)]
        stream_id = self.stream_id(stream)
        out: list[Effect] = [Event(Kind.ACK, now_ns, None, sender, stream_id, value=ack.upto)]
        purged = stream.on_ack(sender, ack.upto)
        if purged:
            low = stream.window.low
            out += [Event(Kind.PURGE, now_ns, None, sender, stream_id, low - purged + 1, purged, 0, low), Freed()]
        return out

    def on_request(self, now_ns: int, sender: Address, request: Request) -> list[Effect]:
        self.is_quiet = False
        stream = self.outgoing.get(sender)
        if stream is None or stream.tag != request.tag:
            over = Unrepairable(self.channel, request.tag, request.ranges[-1][1])
            return [Drop("a request for a stream that is over", sender), Unicast(sender, over)]
        out: list[Effect] = []
        for run in stream.on_request(sender, request.ranges):
            out.append(Event(Kind.REPAIR, now_ns, None, sender, self.stream_id(stream), run.first, len(run.items)))
            out.append(Unicast(sender, run))
        return out

    def on_highest(self, now_ns: int, sender: Address, highest: Highest) -> list[Effect]:
        assert isinstance(highest.tag, int)
        self.is_quiet = False
        incoming = self.incoming.get(sender) or self._resumed(sender, highest.tag)
        if incoming is None or incoming.tag != highest.tag:
            known = self._settled.get(sender, (0, 0))[0] if incoming is None else incoming.tag
            assert isinstance(known, int)
            if highest.tag == known and incoming is None:
                return [Drop("an announcement of one stream too many", sender)]
            if highest.tag < known or highest.low > 0:
                return [self._reset(sender, highest.tag)] if highest.high > highest.low else []
            if not self._may_listen(sender):
                return [Drop("an announcement of one stream too many", sender)]
            incoming = self._listen(sender, highest.tag)  # Even the first message of the stream was lost.
        answer = incoming.on_highest(highest)
        if incoming.window.is_orphaned:
            return self._broken(incoming)
        if answer is None or type(answer) is Ack:
            return [] if answer is None else [Unicast(sender, answer)]
        return asked(now_ns, None, sender, self.stream_id(incoming), answer)

    def on_reset(self, now_ns: int, sender: Address, reset: Reset) -> list[Effect]:
        """The peer cannot go on with this stream: what it has not acked goes again, under a new epoch."""
        stream = self.outgoing.get(sender)
        if stream is None or stream.tag != reset.tag:
            return [Drop("a reset of a stream that is over", sender)]
        window = stream.window
        items = window.get_run(window.low + 1, window.high)
        del self.outgoing[sender]
        return self.send(now_ns, [sender], items) if items else [Freed()]

    def on_unrepairable(self, sender: Address, packet: Unrepairable) -> list[Effect]:
        """The sender has given up this stream, and with it what we still miss: stop asking (simulated seed 96)."""
        incoming = self.incoming.get(sender)
        if incoming is None or incoming.tag != packet.tag or incoming.is_idle:
            return [Drop("a refusal that is out of date", sender)]
        return [Drop("gave up a gap in a stream that its sender has ended", sender, incoming.give_up_gap())]

    def forget(self, peer: Address) -> None:
        """The peer is gone for good (a later incarnation of it, or the group, says so)."""
        self.outgoing.pop(peer, None)
        self.incoming.pop(peer, None)
        self._settled.pop(peer, None)

    # ---- time

    @property
    def is_idle(self) -> bool:
        return self.is_quiet or self._owes_nothing()

    def _owes_nothing(self) -> bool:
        for stream in self.outgoing.values():  # asked at every interval, so without a call for each
            if stream.owes_low:
                return False
        return Incoming.are_idle(self.incoming.values())

    def on_interval(self, now_ns: int) -> list[Effect]:
        if self.is_quiet:
            return []
        out: list[Effect] = []
        for incoming, answer in Incoming.all_on_interval(self.incoming.values()):
            to = incoming.origin
            is_ack = type(answer) is Ack
            out += [Unicast(to, answer)] if is_ack else asked(now_ns, None, to, self.stream_id(incoming), answer)
        for peer, stream in self.outgoing.items():
            if stream.owes_low and (highest := stream.on_interval()) is not None:
                out.append(Unicast(peer, highest))
        self.is_quiet = self._owes_nothing()
        return out

    def check(self) -> None:
        assert not self.is_quiet or self._owes_nothing(), self.channel
        for stream in self.outgoing.values():
            stream.window.check()
            stream.acks.check()
        for incoming in self.incoming.values():
            incoming.window.check()

    def check_sent(self, peers: Iterable[Address]) -> None:
        """Something was sent to these: their streams, each of which is there now."""
        assert not self.is_quiet, self.channel
        for peer in peers:
            self.outgoing[peer].check()

    def check_to(self, peer: Address) -> None:
        """The stream to this peer, if there is one."""
        outgoing = self.outgoing.get(peer)
        if outgoing is not None:
            outgoing.check()

    def check_from(self, peer: Address) -> None:
        """The stream from this peer, if there is one."""
        incoming = self.incoming.get(peer)
        if incoming is not None:
            incoming.window.check()
