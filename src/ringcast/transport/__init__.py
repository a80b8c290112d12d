"""Bytes between endpoints: UDP, TCP and an in-process hub behind one Protocol. Knows nothing of messages or members."""

from ringcast.transport.accepting import Acceptor
from ringcast.transport.counters import Counters
from ringcast.transport.endpoint import Endpoint, reason, resolve, split_host_port
from ringcast.transport.inbox import Inbox
from ringcast.transport.memory import MemoryHub, MemoryTransport
from ringcast.transport.multicast import MulticastGroup, group_socket, prepare_sender
from ringcast.transport.protocol import (
    Exposed,
    Frame,
    Guard,
    Guarded,
    OnFrames,
    OnWritable,
    Passes,
    Recognizing,
    Source,
    Transport,
)
from ringcast.transport.sealed import SealedTransport, sealed_transport
from ringcast.transport.strangers import DEFAULT_LIMITS, SECOND, Allowance, StrangerLimits, Strangers
from ringcast.transport.tcp import TcpTransport
from ringcast.transport.tcp_limits import TcpLimits
from ringcast.transport.tls import Tls, mutual_tls
from ringcast.transport.udp import ON_ONE_HOST, WITHIN_PATH, Datagrams, UdpTransport

__all__ = [
    "DEFAULT_LIMITS",
    "ON_ONE_HOST",
    "SECOND",
    "WITHIN_PATH",
    "Acceptor",
    "Allowance",
    "Counters",
    "Datagrams",
    "Endpoint",
    "Exposed",
    "Frame",
    "Guard",
    "Guarded",
    "Inbox",
    "MemoryHub",
    "MemoryTransport",
    "MulticastGroup",
    "OnFrames",
    "OnWritable",
    "Passes",
    "Recognizing",
    "SealedTransport",
    "Source",
    "StrangerLimits",
    "Strangers",
    "TcpLimits",
    "TcpTransport",
    "Tls",
    "Transport",
    "UdpTransport",
    "group_socket",
    "mutual_tls",
    "prepare_sender",
    "reason",
    "resolve",
    "sealed_transport",
    "split_host_port",
]
