"""Many small datagrams in one system call: UDP segmentation offload (GSO) and its reverse (GRO).

The kernel cuts one large send into datagrams of equal size, of which only the last may be shorter, and hands a train of
equal datagrams to a reader in one piece, with the size beside it. On the wire they are ordinary datagrams.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Sequence

from ringcast.transport.protocol import Frame

_UDP_SEGMENT = 103
_UDP_GRO = 104
_SIZE = struct.Struct("@H")
_SIZE_READ = struct.Struct("@i")
ANCILLARY_BYTES = socket.CMSG_SPACE(_SIZE_READ.size)
MOST_SEGMENTS = 64  # what kernels before 6.9 take; later ones take 128
MOST_BYTES = 65_000  # a train must fit one IP packet, whose length field ends at 65,535


def train_length(frames: Sequence[bytes], start: int) -> int:
    """How many frames from `start` on can leave in one segmented send: equal sizes, the last may be shorter."""
    size = len(frames[start])
    if size == 0:
        return 1
    limit = min(len(frames) - start, MOST_SEGMENTS, MOST_BYTES // size)
    for count in range(1, limit):
        length = len(frames[start + count])
        if length != size:
            return count + 1 if 0 < length < size else count
    return max(limit, 1)


def segment_size(size: int) -> list[tuple[int, int, bytes]]:
    """The ancillary data that tells `sendmsg` where to cut."""
    return [(socket.IPPROTO_UDP, _UDP_SEGMENT, _SIZE.pack(size))]


def accept_trains(sock: socket.socket) -> bool:
    """Ask for trains of datagrams in one read; False if this kernel does not know them."""
    try:
        sock.setsockopt(socket.IPPROTO_UDP, _UDP_GRO, 1)
    except OSError:
        return False
    return True


def cut(data: Frame, ancillary: list[tuple[int, int, bytes]]) -> list[Frame]:
    """The datagrams of one read."""
    for level, kind, value in ancillary:
        if level == socket.IPPROTO_UDP and kind == _UDP_GRO:
            size = _SIZE_READ.unpack(value)[0]
            if 0 < size < len(data):
                return [data[at : at + size] for at in range(0, len(data), size)]
    return [data]
