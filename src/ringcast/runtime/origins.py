"""Is a frame's sender where its address says it is? Asked for every frame, before it is decoded.

A frame names its sender, and with it the endpoint to which answers go. Taken on trust, anybody could speak in a
member's name, or have answers sent to somebody else. So a frame is taken

    from a member's endpoint                in the name of who is there: the view says who
    from anywhere else                      after a proof: a cookie that was sent to the endpoint it names came back

An endpoint that is proved may send so many frames a second, and no more; the first frame of one that is not is kept
meanwhile, so that a proof costs a newcomer one round trip and no retry. The cookie is a keyed checksum of where the
frame came from and what it claims: a proof needs nothing remembered. A challenge is never longer than the frame that
provoked it (return-routability, amplification at most 1), and a source gets one in `CHALLENGE_AGAIN_NS`: one that
floods does not use up the challenges of newcomers.

What is refused is refused here, for the price of a look-up or two: garbage by its first bytes, outsiders over their
allowance, unproved ones that were challenged already.

Behind an address translation a member comes from elsewhere than it can be reached: it is proved like anybody.
Not authentication: whoever can read what is sent to a member's endpoint can speak for it.
Bounded by transport/strangers.py: proved endpoints and challenged sources, first frames that are kept, challenges and
proofs, and frames of which only the decoder can say what they are (of another group, version or process).
"""

from __future__ import annotations

import asyncio
import os
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from hashlib import blake2s

from ringcast.model import Address
from ringcast.transport import DEFAULT_LIMITS, Allowance, Endpoint, Frame, Guarded, Passes, Source, Transport
from ringcast.wire import (
    CHALLENGE,
    PROOF,
    OriginFrames,
    can_be_challenged,
    claimed_endpoint,
    cookie_in,
    is_multicast_run,
    is_of_ringcast,
    sender_in,
)
from ringcast.wire import VERSION as WIRE_VERSION

MOST_OUTSIDERS = DEFAULT_LIMITS.hosts
MOST_KEPT = DEFAULT_LIMITS.kept_frames
KEPT_BYTES = 2_048  # a first frame that is larger is not kept: its sender repeats it
PER_SECOND = DEFAULT_LIMITS.challenges_per_second
CHALLENGE_AGAIN_NS = 50_000_000
OUTSIDER_PER_SECOND = DEFAULT_LIMITS.frames_per_second
OUTSIDER_RUNS_PER_SECOND = DEFAULT_LIMITS.runs_per_second
OUTSIDERS_PER_SECOND = DEFAULT_LIMITS.frames_of_all
UNREADABLE_PER_SECOND = DEFAULT_LIMITS.unreadable_per_second
VERSIONS_PER_SECOND = DEFAULT_LIMITS.versions_per_second

GARBAGE = "not a ringcast frame"
UNPROVED = "its sender is not proved to be where it says"
TOO_MANY = "too many frames of processes outside the view"
UNREADABLE = "too many frames of other groups, versions or processes"
OF_ORIGINS = "a challenge or its proof"

_NOBODY = 0, None  # the sender of no frame


@dataclass(slots=True)
class Outsider:
    endpoint: bytes  # that it has proved
    control: Allowance
    data: Allowance


class Origins:
    """What one place in a group knows of where frames come from. `on_frame` gets a kept first frame after its proof."""

    def __init__(
        self,
        group: str,
        secret: bytes,
        now_ns: Callable[[], int],
        send: Callable[[Endpoint, bytes], bool],
        on_frame: Callable[[bytes], object],
        lose: Callable[[str], None],
    ) -> None:
        self._group = group
        self._secret = secret
        self._now_ns = now_ns
        self._send = send
        self._on_frame = on_frame
        self._lose = lose
        self._frames: OriginFrames | None = None
        self._members: dict[Source, bytes] = {}
        self._inside: dict[bytes, None] = {}  # endpoints of the members
        self.passes: Passes = {}  # each member's frames begin so, as its last one did: where its address stands, and it
        self._outsiders: OrderedDict[Source, Outsider] = OrderedDict()
        self._kept: OrderedDict[Source, bytes] = OrderedDict()
        self._challenged: OrderedDict[Source, int] = OrderedDict()  # when, the last ones
        now = now_ns()
        self._challenges = Allowance(PER_SECOND, now)
        self._proofs = Allowance(PER_SECOND, now)
        self._versions = Allowance(VERSIONS_PER_SECOND, now)
        self._unreadable = Allowance(UNREADABLE_PER_SECOND, now)
        self.on_other_version: Callable[[Source, int], None] = _ignore
        self._all = Allowance(OUTSIDERS_PER_SECOND, now)

    def set_me(self, me: Address) -> None:
        """From now on this incarnation is here."""
        self._frames = OriginFrames(self._group, me)

    def set_members(self, endpoints: Iterable[Endpoint]) -> None:
        """The view's members, without this one. Who was one may go on to speak as an outsider."""
        before, now = self._members, self._now_ns()
        self._members = {(endpoint.host, endpoint.port): str(endpoint).encode() for endpoint in endpoints}
        self._inside = dict.fromkeys(self._members.values())
        self.passes.clear()
        for source, outsider in self._outsiders.items():
            if outsider.endpoint in self._inside:  # behind an address translation, and proved
                self._members[source] = outsider.endpoint
        for source, endpoint in before.items():
            if source not in self._members:
                self._remember(source, endpoint, now)

    @property
    def outsiders(self) -> Mapping[Source, Outsider]:
        return self._outsiders

    # ---- every frame

    def guard(self, source: Source, frame: Frame, reply_to: Source) -> Frame | None:
        at, sender = self.passes.get(source, _NOBODY)
        if (sender is not None and frame[at : at + len(sender)] == sender) or self.admits(source, frame, reply_to):
            return frame
        return None

    __call__ = guard

    def admits(self, source: Source, frame: Frame, reply_to: Source) -> bool:
        """May this frame be decoded?"""
        claimed = claimed_endpoint(frame)
        if claimed is not None and self._members.get(source) == claimed:
            self.passes[source] = sender_in(frame)
            return True
        return self._admits_outsider(source, frame, claimed, reply_to)

    def _admits_outsider(self, source: Source, frame: Frame, claimed: bytes | None, reply_to: Source) -> bool:
        frames = self._frames
        if frames is None:
            return True  # nobody is here yet to take it
        kind = frames.kind(frame)
        if kind == 0:
            return self._admits_unknown(frames, frame, reply_to)
        if kind == CHALLENGE:
            self._answer(frames, frame, reply_to)
            return False
        if claimed is None:
            return self._may_be_named()  # cut off: the decoder says so
        if kind == PROOF:
            self._on_proof(source, frame, claimed)
            return False
        outsider = self._outsiders.get(source)
        if outsider is None or outsider.endpoint != claimed:
            self._challenge(frames, source, frame, claimed)
            self._lose(UNPROVED)
            return False
        return self._may_speak(outsider, frame)

    def _admits_unknown(self, frames: OriginFrames, frame: Frame, reply_to: Source) -> bool:
        """Not a frame of this group and version for this process. What is of ringcast the decoder finds words for."""
        if not is_of_ringcast(frame):
            self._lose(GARBAGE)
            return False
        return not self._is_of_other_version(frames, frame, reply_to) and self._may_be_named()

    def _may_be_named(self) -> bool:
        """May the decoder say what is wrong with a frame? It costs more than to count it."""
        if self._unreadable.take(self._now_ns()):
            return True
        self._lose(UNREADABLE)
        return False

    def _is_of_other_version(self, frames: OriginFrames, frame: Frame, reply_to: Source) -> bool:
        """Its sender is told this member's version, once for each frame; whoever is told so says it, and is silent."""
        told = frames.told_version(frame)
        version = told or frames.other_version(frame)
        if not version:
            return False
        self._lose(f"wire version {version}, this is version {WIRE_VERSION}")
        if not told and len(frame) >= len(frames.version_frame) and self._versions.take(self._now_ns()):
            self._send(Endpoint(*reply_to), frames.version_frame)
        self.on_other_version(reply_to, version)
        return True

    def _may_speak(self, outsider: Outsider, frame: Frame) -> bool:
        now = self._now_ns()
        is_data = is_multicast_run(frame)
        own = outsider.data if is_data else outsider.control
        if own.take(now) and (is_data or self._all.take(now)):
            return True
        self._lose(TOO_MANY)
        return False

    # ---- proofs

    def _cookie(self, source: Source, claimed: bytes) -> bytes:
        text = f"{source[0]} {source[1]} ".encode() + claimed
        return blake2s(text, digest_size=8, key=self._secret).digest()

    def _challenge(self, frames: OriginFrames, source: Source, frame: Frame, claimed: bytes) -> None:
        now = self._now_ns()
        challenged = self._challenged.get(source)
        if challenged is not None and now < challenged + CHALLENGE_AGAIN_NS:
            return
        if not can_be_challenged(frame) or not self._challenges.take(now):
            return
        while len(self._challenged) >= MOST_OUTSIDERS:
            self._challenged.popitem(last=False)
        self._challenged[source] = now
        to = _endpoint(claimed)
        if to is None:
            return
        if len(frame) <= KEPT_BYTES and source not in self._kept:
            while len(self._kept) >= MOST_KEPT:
                self._kept.popitem(last=False)
            self._kept[source] = bytes(frame)
        self._send(to, frames.challenge(frame, self._cookie(source, claimed)))

    def _answer(self, frames: OriginFrames, challenge: Frame, reply_to: Source) -> None:
        self._lose(OF_ORIGINS)
        proof = frames.proof(challenge)
        if proof is not None and self._proofs.take(self._now_ns()):
            self._send(Endpoint(*reply_to), proof)

    def _on_proof(self, source: Source, proof: Frame, claimed: bytes) -> None:
        self._lose(OF_ORIGINS)
        if cookie_in(proof) != self._cookie(source, claimed):
            return
        self._remember(source, claimed, self._now_ns())
        if claimed in self._inside:
            self._members[source] = claimed
            self.passes.pop(source, None)
        kept = self._kept.pop(source, None)
        if kept is not None and claimed_endpoint(kept) == claimed:
            self._on_frame(kept)

    def _remember(self, source: Source, endpoint: bytes, now_ns: int) -> None:
        while len(self._outsiders) >= MOST_OUTSIDERS:
            self._outsiders.popitem(last=False)
        known = self._outsiders.get(source)
        if known is None or known.endpoint != endpoint:
            allowances = Allowance(OUTSIDER_PER_SECOND, now_ns), Allowance(OUTSIDER_RUNS_PER_SECOND, now_ns)
            self._outsiders[source] = Outsider(endpoint, *allowances)


def watch_origins(
    group: str, transport: Transport, now_ns: Callable[[], int], on_frames: Callable[[Iterable[Frame]], None]
) -> Origins | None:
    """Have every frame that comes over this open transport looked at; None if it knows itself who sends."""
    if not isinstance(transport, Guarded):
        return None
    loop = asyncio.get_running_loop()
    origins = Origins(
        group,
        os.urandom(16),
        now_ns,
        transport.send,
        lambda frame: loop.call_soon(on_frames, [frame]),
        transport.counters.lose,
    )
    transport.guard = origins
    return origins


def _ignore(source: Source, version: int) -> None:
    pass


def _endpoint(text: bytes) -> Endpoint | None:
    try:
        return Endpoint.parse(text.decode("ascii"))
    except (ValueError, OSError):  # not text, or a TransportError
        return None
