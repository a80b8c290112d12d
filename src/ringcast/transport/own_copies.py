"""A kernel filter that keeps a member's own multicast packets out of its own queue.

With multicast loop on (other members on this host need it) the kernel also queues our packets to ourselves; reading
and dropping them costs what a receiver costs. This classic BPF program refuses them by source address and port before
they are queued. It is not a security measure: it protects nobody from forged packets.
"""

from __future__ import annotations

import ctypes
import ipaddress
import socket
import struct

from ringcast.transport.endpoint import Endpoint

_ATTACH_FILTER = 26
_LOAD_HALF, _LOAD_WORD, _JUMP_IF_EQUAL, _RETURN = 0x28, 0x20, 0x15, 0x06
_NETWORK_HEADER = 0xFFF00000  # SKF_NET_OFF: offsets from here count from the IP header
_SOURCE_IN_HEADER = {socket.AF_INET: 12, socket.AF_INET6: 8}
_WHOLE, _NOTHING = 0xFFFFFFFF, 0


def filter_program(source: Endpoint) -> bytes:
    """The program: refuse what comes from exactly `source`, pass all else."""
    packed = ipaddress.ip_address(source.host.partition("%")[0]).packed
    words = struct.unpack(f"!{len(packed) // 4}I", packed)
    offset = _NETWORK_HEADER + _SOURCE_IN_HEADER[source.family]
    tests = [(_LOAD_HALF, 0, source.port)]  # the filter sees the packet from the UDP header on: source port first
    tests += [(_LOAD_WORD, offset + 4 * i, word) for i, word in enumerate(words)]
    code = []
    for index, (load, position, value) in enumerate(tests):
        to_pass = 2 * (len(tests) - index) - 1
        code += [(load, 0, 0, position), (_JUMP_IF_EQUAL, 0, to_pass, value)]
    code += [(_RETURN, 0, 0, _NOTHING), (_RETURN, 0, 0, _WHOLE)]
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in code)


def refuse_own_copies(sock: socket.socket, source: Endpoint) -> None:
    """Attach the filter to the socket that receives the group."""
    program = filter_program(source)
    memory = ctypes.create_string_buffer(program, len(program))
    handle = struct.pack("@HP", len(program) // 8, ctypes.addressof(memory))
    sock.setsockopt(socket.SOL_SOCKET, _ATTACH_FILTER, handle)
