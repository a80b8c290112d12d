"""The simulated network: frames from one member to another, over links that may be slow, lossy, cut or worse.

Each direction between two members is a path of its own, with its own source of randomness, so that what happens on one
does not shift what happens on another. Frames are bytes: whatever arrives went through `wire` at both ends.
A path belongs to the name of a member (its host), not to an incarnation: what was on its way to a process that crashed
reaches the one that restarted in its place.
Not a transport: nothing here waits, and nobody is told what was lost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING

from ringcast.core import Channel, Loose, Packet, Run
from ringcast.model import MIB, MS, SECOND
from ringcast.sim.clock import Clock
from ringcast.wire import Onlooker

if TYPE_CHECKING:
    from ringcast.sim.frames import FrameRule

Socket = Callable[[bytes, bool], None]
Snare = Callable[[str, str, Packet], bool]
RUN_KINDS = {Channel.GROUP: "data", Channel.PEER: "stream", Channel.CONTROL: "control", Channel.STATE: "state"}


@dataclass(frozen=True, slots=True)
class Link:
    """How one direction behaves. Shares are between 0 and 1; `bytes_per_second` 0 = no limit."""

    delay_ns: int = 1 * MS
    jitter_ns: int = 0
    loss: float = 0.0
    duplicate: float = 0.0
    reorder: float = 0.0  # this share is held back by up to `reorder_ns`, so that others overtake
    reorder_ns: int = 5 * MS
    damage: float = 0.0  # this share has bytes changed
    bytes_per_second: int = 0
    queue_bytes: int = 1 * MIB  # what does not fit the queue of a slow link is lost
    queue_ns: int = 2 * SECOND  # and what would wait for longer: else the dead are heard long after a link is mended

    def __post_init__(self) -> None:
        for name in ("loss", "duplicate", "reorder", "damage"):
            share = getattr(self, name)
            if not 0 <= share <= 1:
                raise ValueError(f"{name} must be between 0 and 1, got {share!r}")
        for name in ("delay_ns", "jitter_ns", "reorder_ns", "bytes_per_second", "queue_bytes", "queue_ns"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} must not be negative, got {getattr(self, name)!r}")


def kind_of(packet: Packet) -> str:
    """The word by which cuts and snares name a packet: data, stream, control, state, or the type of what is said."""
    if type(packet) is Run:
        return RUN_KINDS[packet.channel]
    return type(packet.message if isinstance(packet, Loose) else packet).__name__.lower()


class Path:
    """One direction between two members: its link, its randomness, and what is cut on it."""

    __slots__ = ("_free_ns", "_link", "_random", "cut_kinds", "draw", "is_cut", "is_plain", "jitter_ns", "least_ns")

    def __init__(self, link: Link, random: Random) -> None:
        self.link = link
        self.is_cut = False
        self.cut_kinds: tuple[str, ...] = ()  # these kinds do not pass, although the path is not cut
        self._random = random
        self.draw = random.random
        self._free_ns = 0  # when the last byte in the queue of a slow link has left

    @property
    def link(self) -> Link:
        return self._link

    @link.setter
    def link(self, link: Link) -> None:
        self._link = link
        self.least_ns, self.jitter_ns = link.delay_ns, link.jitter_ns
        trouble = link.loss or link.duplicate or link.reorder or link.damage or link.bytes_per_second
        self.is_plain = not trouble  # a frame takes its delay and its jitter, and nothing else happens to it

    def travel_ns(self, now_ns: int, nbytes: int) -> list[int]:
        """How long each copy of a frame is on its way; none if it is lost."""
        link = self._link
        if link.loss and self.draw() < link.loss:
            return []
        queued_ns = self._queue(now_ns, nbytes) if link.bytes_per_second else 0
        if queued_ns < 0:
            return []
        if link.duplicate and self.draw() < link.duplicate:
            return [queued_ns + self.delay_ns(), queued_ns + self.delay_ns()]
        return [queued_ns + self.delay_ns()]

    def _queue(self, now_ns: int, nbytes: int) -> int:
        """How long until the last byte is on the wire, or -1 if the queue is full."""
        link = self.link
        free_ns = max(self._free_ns, now_ns)
        wait_ns = free_ns - now_ns
        if wait_ns > link.queue_ns or wait_ns * link.bytes_per_second > link.queue_bytes * SECOND:
            return -1
        self._free_ns = free_ns + nbytes * SECOND // link.bytes_per_second
        return self._free_ns - now_ns

    def delay_ns(self) -> int:
        """How long one copy travels."""
        link, delay_ns = self._link, self.least_ns
        if self.jitter_ns:
            delay_ns += int(self.draw() * self.jitter_ns)
        if link.reorder and self.draw() < link.reorder:
            delay_ns += int(self.draw() * link.reorder_ns)
        return delay_ns

    def spoil(self, frame: bytes) -> bytes:
        """The frame with some bytes changed, cut off or added, if this one is unlucky; otherwise itself."""
        if self.draw() >= self.link.damage:
            return frame
        spoiled = bytearray(frame)
        for _ in range(self._random.randint(1, 4)):
            spoiled[self._random.randrange(len(spoiled))] ^= self._random.randint(1, 255)
        length = self._random.choice((0, 0, 1, -1))
        return bytes(spoiled[: len(spoiled) // 2] if length < 0 else spoiled + b"\0" * length)


class Network:
    """All paths between the members of one simulated world."""

    def __init__(self, clock: Clock, seed: int | str, link: Link, group: str = "sim") -> None:
        self.link = link
        self.sent = 0
        self.lost = 0
        self.largest_frame = 0  # that somebody here packs
        self.snares: list[Snare] = []  # tests look at packets with these, and lose those for which they say so
        self.rules: list[FrameRule] = []  # what happens to frames of some kinds
        self._clock = clock
        self._seed = seed
        self.packet_of = Onlooker(group).packet_of  # what a frame says
        self._paths: dict[tuple[str, str], Path] = {}
        self._sockets: dict[str, Socket] = {}

    def path(self, sender: str, to: str) -> Path:
        path = self._paths.get((sender, to))
        if path is None:
            path = self._paths[sender, to] = Path(self.link, Random(f"{self._seed}/{sender}>{to}/link"))
        return path

    # ---- members

    def attach(self, name: str, socket: Socket) -> None:
        self._sockets[name] = socket

    def detach(self, name: str) -> None:
        self._sockets.pop(name, None)

    def transmit(self, sender: str, to: str, frame: bytes) -> None:
        path = self._paths.get((sender, to)) or self.path(sender, to)
        self.sent += 1
        if path.is_cut or ((path.cut_kinds or self.snares) and self._is_caught(path, sender, to, frame)):
            self.lost += 1
        elif self.rules and self._is_ruled(sender, to, frame):
            pass  # the rule keeps it, loses it or has copied it
        elif path.is_plain:  # as in `_carry`, without its calls: nearly every frame goes this way
            clock = self._clock
            jitter_ns = int(path.draw() * path.jitter_ns) if path.jitter_ns else 0
            clock.at(clock.now_ns + path.least_ns + jitter_ns, self._arrive, to, frame)
        else:
            self._carry(path, to, frame)

    def release(self, sender: str, to: str, frame: bytes) -> None:
        """A frame that a rule had kept goes on its way."""
        path = self.path(sender, to)
        if path.is_cut:
            self.lost += 1
        else:
            self._carry(path, to, frame)

    def _carry(self, path: Path, to: str, frame: bytes) -> None:
        clock, damage = self._clock, path.link.damage
        copies = path.travel_ns(clock.now_ns, len(frame))
        if not copies:
            self.lost += 1
        for travel_ns in copies:
            arrives = path.spoil(frame) if damage else frame
            clock.at(clock.now_ns + travel_ns, self._arrive, to, arrives, arrives is not frame)

    def _is_caught(self, path: Path, sender: str, to: str, frame: bytes) -> bool:
        packet = self.packet_of(frame)
        if packet is None:
            return False
        if path.cut_kinds and kind_of(packet) in path.cut_kinds:
            return True
        return any(snare(sender, to, packet) for snare in self.snares)

    def _is_ruled(self, sender: str, to: str, frame: bytes) -> bool:
        packet = self.packet_of(frame)
        if packet is None:
            return False
        return any(not rule.is_full and rule.takes(sender, to, frame, packet) for rule in list(self.rules))

    def _arrive(self, to: str, frame: bytes, is_damaged: bool = False) -> None:
        socket = self._sockets.get(to)
        if socket is None:
            self.lost += 1
        else:
            socket(frame, is_damaged)

    # ---- faults

    def cut(self, pairs: Iterable[tuple[str, str]], kinds: tuple[str, ...] = ()) -> None:
        """Nothing passes any more in these directions; or, if kinds are named, nothing of these kinds."""
        for sender, to in pairs:
            path = self.path(sender, to)
            if kinds:
                path.cut_kinds = kinds
            else:
                path.is_cut = True

    def mend(self, pairs: Iterable[tuple[str, str]]) -> None:
        """These directions behave again as the world was made."""
        for sender, to in pairs:
            path = self.path(sender, to)
            path.is_cut, path.cut_kinds, path.link = False, (), self.link

    def mend_all(self) -> None:
        self.mend(list(self._paths))
