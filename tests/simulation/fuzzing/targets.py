"""What is fuzzed: functions that take any bytes from outside and must answer, never raise."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ringcast.core import Drop, Run
from ringcast.errors import PeerError
from ringcast.model import Address
from ringcast.trace import TraceError, frames_in
from ringcast.trace.block import decode_block
from ringcast.transport import Endpoint
from ringcast.transport.framing import decode_hello, encode_hello, split_frames, with_lengths
from ringcast.wire import Codec, decode_control

CORPUS = Path(__file__).with_name("corpus")
LARGEST_FRAME = 65_536

_codec = Codec("g", Address("A", 1, "mem:A"))


def frame(data: bytes) -> bool:
    """A datagram, and the control messages that its items may be."""
    decoded = _codec.decode(data)
    if isinstance(decoded, Drop):
        return False
    packet = decoded[1]
    if isinstance(packet, Run):
        for item in packet.items:
            decode_control(item)
    return True


def control(data: bytes) -> bool:
    """A control message of a stream."""
    return not isinstance(decode_control(data), Drop)


def tcp(data: bytes) -> bool:
    """What comes over a connection: from its first byte, and behind a good greeting."""
    return _stream(data) | _stream(encode_hello(Endpoint("127.0.0.1", 7)) + b"".join(with_lengths([data])) + data)


def _stream(data: bytes) -> bool:
    try:
        hello = decode_hello(data)
        return hello is not None and len(split_frames(memoryview(data)[hello[1] :], LARGEST_FRAME)[0]) > 0
    except PeerError:
        return False


def block(data: bytes) -> bool:
    """A block of a recording."""
    try:
        return bool(decode_block(data).events())
    except TraceError:
        return False


def segment(data: bytes) -> bool:
    """A file of a recording."""
    try:
        return sum(1 for _ in frames_in(data, "000000.rct")) > 0
    except TraceError:
        return False


TARGETS: dict[str, Callable[[bytes], bool]] = {
    "frame": frame,
    "control": control,
    "tcp": tcp,
    "block": block,
    "segment": segment,
}


def kept(target: str) -> list[bytes]:
    """The inputs that are kept of this target: one a line, in hexadecimal, each for a path of its own."""
    return [bytes.fromhex(line) for line in (CORPUS / f"{target}.hex").read_text().split()]
