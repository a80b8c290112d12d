"""Bytes <-> packets: versioned frames, bounded decoding. Knows layouts, no protocol."""

from ringcast.wire.codec import Codec
from ringcast.wire.control import decode_control, encode_control
from ringcast.wire.limits import MAX_FRAME, VERSION

__all__ = ["MAX_FRAME", "VERSION", "Codec", "decode_control", "encode_control"]
