"""Bytes <-> packets: versioned frames, bounded decoding. Knows layouts, no protocol."""

from ringcast.wire.codec import ENCRYPTED, Codec, Onlooker
from ringcast.wire.control import decode_control, encode_control
from ringcast.wire.header import HEAD_BYTES
from ringcast.wire.limits import LEAST_FRAME, MAX_FRAME, VERSION
from ringcast.wire.origin import (
    CHALLENGE,
    PROOF,
    OriginFrames,
    can_be_challenged,
    claimed_endpoint,
    cookie_in,
    is_multicast_run,
    is_of_ringcast,
    may_be_of,
    sender_in,
)

__all__ = [
    "CHALLENGE",
    "ENCRYPTED",
    "HEAD_BYTES",
    "LEAST_FRAME",
    "MAX_FRAME",
    "PROOF",
    "VERSION",
    "Codec",
    "Onlooker",
    "OriginFrames",
    "can_be_challenged",
    "claimed_endpoint",
    "cookie_in",
    "decode_control",
    "encode_control",
    "is_multicast_run",
    "is_of_ringcast",
    "may_be_of",
    "sender_in",
]
