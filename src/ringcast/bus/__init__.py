"""One order among the threads of a process (LocalBus) or the processes of a host (SharedBus): seed 002.

with SharedBus.open("trades") as bus, bus.attach("alice") as alice:
    alice.queue(b"hello", to=["bob", "carol"])
    for item in alice: ...
"""

from ringcast.bus.errors import (
    BusFull,
    BusUnusable,
    BusWaitExpired,
    Detached,
    Fenced,
    MessageTooLong,
    NameTaken,
    NativeMissing,
    UnknownPeer,
)
from ringcast.bus.local import LocalBus
from ringcast.bus.local_peer import LocalPeer
from ringcast.bus.message import Message, PeerLeft, Run
from ringcast.bus.names import EVERYONE, OTHERS
from ringcast.bus.peer import Peer
from ringcast.bus.recorded import RecordedPeer, to_directory
from ringcast.bus.shared import PeerStatus, SharedBus

__all__ = [
    "EVERYONE",
    "OTHERS",
    "BusFull",
    "BusUnusable",
    "BusWaitExpired",
    "Detached",
    "Fenced",
    "LocalBus",
    "LocalPeer",
    "Message",
    "MessageTooLong",
    "NameTaken",
    "NativeMissing",
    "Peer",
    "PeerLeft",
    "PeerStatus",
    "RecordedPeer",
    "Run",
    "SharedBus",
    "UnknownPeer",
    "to_directory",
]
