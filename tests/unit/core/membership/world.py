"""A small deterministic world for nodes that join by themselves: virtual time, frames through the real codec, loss.

Everything that happens follows from the seed. Applications read at once and send what they were given as soon as there
is room. `killer` may stop a process at any frame it sends, which is how every step of a protocol gets its crash.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Iterable
from random import Random
from typing import Any

from ringcast.checkers import judge
from ringcast.core import (
    AwaitState,
    Cast,
    Channel,
    Deliver,
    Drop,
    Effect,
    Entrance,
    Excluded,
    Install,
    Left,
    Lost,
    Node,
    Probe,
    ProvideState,
    StateOver,
    Unicast,
)
from ringcast.model import MS, SECOND, Address, Config, Event, View, profile
from ringcast.trace import Header, MemoryRecorder
from ringcast.wire import Codec, decode_control, encode_control


class Proc:
    """One process."""

    def __init__(self, world: World, address: Address, config: Config, **join: Any) -> None:
        self.world = world
        self.address = address
        self.name = address.name
        self.node = Node.joining(
            address, config, Random(f"{world.seed}/{address}"), encode_control, decode_control, Entrance(**join)
        )
        self.codec = Codec("g", address)
        self.recorder = MemoryRecorder(Header.of(address, "g", config))
        self.alive = True
        self.frozen = False
        self.inbox: deque[Any] = deque()
        self.left: bool | None = None
        self.excluded = False
        self.lost: str | None = None
        self.views: list[View] = []
        self.got: list[tuple[str, bytes]] = []
        self.outbox: deque[bytes] = deque()
        self.drops: dict[str, int] = {}
        self.frames_out = 0
        self.chunks: deque[Deliver] = deque()
        self.loading: list[bytes] | None = None  # chunks of the state this process waits for
        self.is_state_whole: bool | None = None
        self.state_over: list[tuple[str, str | None]] = []
        self.giving: dict[Address, deque[bytes]] = {}
        self.give_error: str | None = None
        self.is_slow = False  # its application reads nothing of its state
        self._timer: int | None = None

    @property
    def view(self) -> View | None:
        return self.node.view if self.node.has_group else None

    @property
    def suspects(self) -> list[Address]:
        assert self.node.coordination is not None
        return list(self.node.coordination.membership.suspicions.members)

    def messages(self, origin: str) -> list[bytes]:
        return [payload for sender, payload in self.got if sender == origin]

    def do(self, effects: list[Effect]) -> None:
        self.node.check()
        for effect in effects:
            if not self.alive:
                return
            self._do(effect)

    def _do(self, effect: Effect) -> None:
        match effect:
            case Event():
                self.recorder.append(effect)
            case Cast():
                frame = self.codec.encode(effect.packet)
                for member in self.node.view.members:
                    if member != self.address:
                        self.transmit(member.endpoint, frame, effect.packet)
            case Unicast():
                self.transmit(effect.to.endpoint, self.codec.encode(effect.packet, effect.to), effect.packet)
            case Probe():
                self.transmit(effect.endpoint, self.codec.encode(effect.packet), effect.packet)
            case Deliver(channel=Channel.STATE):
                self.chunks.append(effect)
            case Deliver() | Install() | ProvideState():
                self.inbox.append(effect)
            case AwaitState():
                self.inbox.clear()  # it is part of the state that comes now
                self.got.clear()
                self.chunks.clear()
                self.loading = []
            case StateOver():
                self.state_over.append((effect.joiner.name, effect.error))
                if effect.joiner == self.address:
                    self.is_state_whole = effect.error is None
            case Drop():
                self.drops[effect.reason] = self.drops.get(effect.reason, 0) + effect.count
            case Left():
                self.left = effect.clean
                self.world.stop(self, "left")
            case Excluded():
                self.excluded = True
            case Lost():
                self.lost = effect.reason

    def transmit(self, endpoint: str, frame: bytes, packet: object) -> None:
        if not self.alive:
            return
        self.frames_out += 1
        assert len(frame) <= self.node.config.frame_bytes
        self.world.transmit(self, endpoint, frame)
        if self.world.killer is not None:
            self.world.killer(self, packet)

    def settle(self, effects: list[Effect]) -> None:
        """One fact went in: carry it out, then read and send as far as possible."""
        self.do(effects)
        while self.alive and (self._load() or self._read() or self._give() or self._send()):
            pass
        self.arm()

    def _load(self) -> bool:
        """Read chunks of the state; when it is whole, it takes the place of everything read before."""
        if self.is_slow:
            return False
        if self.chunks:
            chunk = self.chunks.popleft()
            if self.loading is not None:
                self.loading += chunk.payloads
            self.do(self.node.on_taken(self.world.now, chunk))
            return True
        if self.loading is None or not self.is_state_whole:
            return False
        lines = b"".join(self.loading).split(b"\n")[:-1]
        self.got = [(line.partition(b":")[0].decode(), line.partition(b":")[2]) for line in lines]
        self.loading, self.is_state_whole = None, None
        self.do(self.node.on_state_loaded(self.world.now))
        return True

    def _give(self) -> bool:
        for joiner, chunks in list(self.giving.items()):
            if chunks and self.node.may_give_state(joiner, len(chunks[0])):
                self.do(self.node.give_state(self.world.now, joiner, chunks.popleft()))
                return True
            if not chunks:
                del self.giving[joiner]
                self.do(self.node.end_state(self.world.now, joiner, self.give_error))
                return True
        return False

    def _snapshot(self) -> deque[bytes]:
        state = b"".join(b"%s:%s\n" % (sender.encode(), payload) for sender, payload in self.got)
        return deque(state[at : at + 1_000] for at in range(0, len(state), 1_000))

    def _read(self) -> bool:
        if not self.inbox or self.loading is not None:
            return False
        item = self.inbox.popleft()
        if isinstance(item, ProvideState):
            self.giving[item.joiner] = self._snapshot() if self.give_error is None else deque()
            return True
        if isinstance(item, Install):
            self.views.append(item.view)
            return True
        if item.channel is Channel.GROUP:
            self.got += [(item.origin.name, payload) for payload in item.payloads]
        self.do(self.node.on_taken(self.world.now, item))
        return True

    def _send(self) -> bool:
        if not self.outbox:
            return False
        payload = self.outbox[0]
        if len(payload) > self.node.largest_whole:
            if not self.node.may_send_large(len(payload)):
                return False
            self.outbox.popleft()
            self.do(self.node.send_large(self.world.now, payload))
            return True
        if not self.node.fit([len(payload)]):
            return False
        self.outbox.popleft()
        self.do(self.node.send(self.world.now, [payload], [len(payload)]))
        return True

    def arm(self) -> None:
        deadline = self.node.deadline_ns()
        if self.alive and deadline is not None and (self._timer is None or deadline < self._timer):
            self._timer = max(deadline, self.world.now)
            self.world.at(self._timer, self._on_timer, self._timer)

    def _on_timer(self, due: int) -> None:
        if due == self._timer and self.alive and not self.frozen:
            self._timer = None
            self.settle(self.node.on_time(self.world.now))

    def on_frame(self, frame: bytes) -> None:
        if not self.alive or self.frozen:
            return
        decoded = self.codec.decode(frame)
        if isinstance(decoded, Drop):
            return
        self.settle(self.node.on_packet(self.world.now, *decoded))

    def thaw(self) -> None:
        self.frozen = False
        self._timer = None
        self.settle(self.node.on_time(self.world.now))


class World:
    proc: type[Proc] = Proc

    def __init__(self, seed: int = 1, *, loss: float = 0.0, delay: tuple[int, int] = (1 * MS, 2 * MS)) -> None:
        self.seed = seed
        self.now = 0
        self.loss = loss
        self.delay = delay
        self.random = Random(seed)
        self.procs: dict[str, Proc] = {}
        self.past: list[Proc] = []
        self.killer: Callable[[Proc, object], None] | None = None
        self.blocked: Callable[[str, str], bool] = lambda sender, receiver: False
        self._heap: list[tuple[int, int, Callable[..., None], tuple[Any, ...]]] = []
        self._count = 0

    def __getitem__(self, name: str) -> Proc:
        return self.procs[name]

    def at(self, when: int, call: Callable[..., None], *args: Any) -> None:
        self._count += 1
        heapq.heappush(self._heap, (when, self._count, call, args))

    def start(self, name: str, config: Config | None = None, seeds: Iterable[str] | None = None, **join: Any) -> Proc:
        incarnation = 1 + sum(proc.name == name for proc in [*self.past, *self.procs.values()])
        if name in self.procs:
            self.past.append(self.procs[name])
        address = Address(name, incarnation, f"mem:{name}")
        proc = self.procs[name] = self.proc(self, address, config or profile("test"), **join)
        proc.settle(proc.node.begin(self.now))
        known = [f"mem:{other}" for other in (self.procs if seeds is None else seeds) if other != name]
        proc.settle(proc.node.on_discovered(self.now, known))
        return proc

    def group(self, names: str, **join: Any) -> None:
        """These, one after the other, in one view."""
        for count, name in enumerate(names, 1):
            self.start(name, **join)
            so_far = names[:count]
            assert self.is_soon_one(so_far), so_far

    def is_soon_one(self, names: Iterable[str], limit: int = 30 * SECOND) -> bool:
        return self.run_until(lambda: self.is_one(names), limit)

    def is_one(self, names: Iterable[str]) -> bool:
        procs = [self.procs[name] for name in names]
        addresses = {proc.address for proc in procs}
        views = [proc.view for proc in procs]
        return all(view is not None and view == views[0] and set(view.members) == addresses for view in views)

    def transmit(self, sender: Proc, endpoint: str, frame: bytes) -> None:
        name = endpoint.removeprefix("mem:")
        if self.random.random() < self.loss or self.blocked(sender.name, name):
            return
        self.at(self.now + self.random.randint(*self.delay), self._arrive, name, frame)

    def _arrive(self, name: str, frame: bytes) -> None:
        if name in self.procs:
            self.procs[name].on_frame(frame)

    def crash(self, *names: str) -> None:
        for name in names:
            self.stop(self.procs[name], "crashed")

    def stop(self, proc: Proc, how: str) -> None:
        if proc.alive:
            proc.alive = False
            proc.recorder.close(self.now, how)

    def leave(self, name: str) -> None:
        proc = self.procs[name]
        proc.settle(proc.node.leave(self.now))

    def send(self, name: str, *payloads: bytes) -> None:
        proc = self.procs[name]
        proc.outbox.extend(payloads)
        proc.settle([])

    def step(self) -> None:
        when, _, call, args = heapq.heappop(self._heap)
        self.now = max(self.now, when)
        call(*args)

    def run_for(self, duration: int) -> None:
        end = self.now + duration
        while self._heap and self._heap[0][0] <= end:
            self.step()
        self.now = end

    def run_until(self, condition: Callable[[], bool], limit: int = 30 * SECOND) -> bool:
        end = self.now + limit
        while not condition():
            if not self._heap or self._heap[0][0] > end:
                return False
            self.step()
        return True

    def verdict(self) -> str:
        """Every checker over everything recorded; '' if nothing was violated."""
        for proc in self.procs.values():
            self.stop(proc, "ended")
        result = judge(proc.recorder.recording() for proc in [*self.past, *self.procs.values()])
        violations = [v for finding in result.findings.values() for v in finding.violations[:2]]
        return "; ".join(v.sentence for v in violations)
