"""Two small frames that prove where a process is, one that tells its version, and a frame's sender without decoding it.

    challenge   head (kind 8, `to` = whom it is for) | cookie 8 | zeros up to the length of the proof
    proof       head (kind 9) with the sender's address | cookie 8
    version     magic 2 | 255 | version of the sender's wire 1 | group 4

A challenge goes to the endpoint that a frame's sender named; whoever reads there sends the cookie back. It is as long
as the proof that answers it, so that nobody is sent more bytes than were sent in its name.
The layout of a version frame never changes: it is what members of all versions can tell each other, and all of it.
Layouts only: who is challenged, and what follows from a proof, is decided in runtime/origins.py.
"""

from __future__ import annotations

from zlib import crc32

from ringcast.model import Address
from ringcast.wire.header import HEAD_BYTES, address_tag, group_tag, pack_head
from ringcast.wire.limits import MAGIC, SEALED_MAGIC, VERSION

CHALLENGE, PROOF = 8, 9
COOKIE_BYTES = 8
RUN = 1
_ADDRESS_BYTES = 10  # of an address, before its name
_LEAST = HEAD_BYTES + _ADDRESS_BYTES
_MAGICS = (MAGIC, SEALED_MAGIC)

Frame = bytes | memoryview


_TELLS_VERSION = 255


class OriginFrames:
    """The frames of one incarnation."""

    def __init__(self, group: str, me: Address) -> None:
        tag = group_tag(group).to_bytes(4, "little")
        self._begins = {(MAGIC + bytes([VERSION, kind]) + tag): kind for kind in range(1, PROOF + 1)}
        self._challenge = MAGIC + bytes([VERSION, CHALLENGE]) + tag
        self._my_tag = address_tag(me).to_bytes(4, "little")
        self._tags = (bytes(4), self._my_tag)
        self._group = tag
        self._version = VERSION
        self.version_frame = MAGIC + bytes([_TELLS_VERSION, VERSION]) + tag
        self._proof = pack_head(PROOF, group_tag(group), me)

    def kind(self, frame: Frame) -> int:
        """Of a frame of this group and version for this process, or for everybody; 0 if it is none."""
        return self._begins.get(bytes(frame[:8]), 0) if bytes(frame[8:12]) in self._tags else 0

    def other_version(self, frame: Frame) -> int:
        """Of a frame of this group that another version of the wire sent; 0 if it is none, or tells a version."""
        if bytes(frame[:2]) != MAGIC or bytes(frame[4:8]) != self._group:
            return 0
        return int(frame[2]) if frame[2] not in (self._version, _TELLS_VERSION) else 0

    def told_version(self, frame: Frame) -> int:
        """Which other version the sender of this frame says it has; 0 if it does not say so."""
        is_one = len(frame) == len(self.version_frame) and bytes(frame[:3]) == self.version_frame[:3]
        if not is_one or bytes(frame[4:8]) != self._group or frame[3] == self._version:
            return 0
        return int(frame[3])

    def challenge(self, frame: Frame, cookie: bytes) -> bytes:
        """For whoever sent this frame, which is long enough."""
        end = _address_end(frame)
        tag = (crc32(frame[HEAD_BYTES:end]) or 1).to_bytes(4, "little")  # as `address_tag` makes it
        return (self._challenge + tag + cookie).ljust(end + COOKIE_BYTES, b"\0")

    def proof(self, challenge: Frame) -> bytes | None:
        """The answer to a challenge; None if it is for somebody else, or shorter than its answer."""
        at = HEAD_BYTES
        if bytes(challenge[8:at]) != self._my_tag or len(challenge) < len(self._proof) + COOKIE_BYTES:
            return None
        return self._proof + bytes(challenge[at : at + COOKIE_BYTES])


def is_of_ringcast(frame: Frame) -> bool:
    """By its first bytes: in clear or sealed, of any group and version."""
    return bytes(frame[:2]) in _MAGICS


def can_be_challenged(frame: Frame) -> bool:
    """Is it at least as long as the challenge that would answer it? Of a frame that says where its sender is."""
    return _address_end(frame) + COOKIE_BYTES <= len(frame)


def _address_end(frame: Frame) -> int:
    return _LEAST + frame[HEAD_BYTES] + frame[HEAD_BYTES + 1]


def claimed_endpoint(frame: Frame) -> bytes | None:
    """Where the sender of this frame says it is; None if the frame ends before that."""
    if len(frame) < _LEAST:
        return None
    at = _LEAST + frame[HEAD_BYTES]
    end = at + frame[HEAD_BYTES + 1]
    return bytes(frame[at:end]) if end <= len(frame) else None


def sender_in(frame: Frame) -> tuple[int, bytes]:
    """Where the sender's address begins, and its bytes. Of a frame that says where its sender is."""
    return HEAD_BYTES, bytes(frame[HEAD_BYTES : _address_end(frame)])


def may_be_of(names: tuple[str, ...], frame: Frame) -> bool:
    """Does this frame name one of these as its sender? Challenges name nobody; what is cut off is for the decoder."""
    if len(frame) < _LEAST or frame[3] == CHALLENGE:
        return True
    name = bytes(frame[_LEAST : _LEAST + frame[HEAD_BYTES]])
    return any(name == known.encode() for known in names)


def is_multicast_run(frame: Frame) -> bool:
    """A run of the multicast: data, unlike all else that a process outside the view may send."""
    end = _address_end(frame)
    return frame[3] == RUN and end < len(frame) and frame[end] == 0


def cookie_in(proof: Frame) -> bytes:
    return bytes(proof[-COOKIE_BYTES:])
