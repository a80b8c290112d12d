"""The pure state machines: multicast now; membership, merge and ordering have their rooms beside it."""

from ringcast.core.effects import Cast, Deliver, Drop, Effect, Freed, Install, Lost, Unicast
from ringcast.core.node import Node
from ringcast.core.packets import Ack, Channel, Highest, Packet, Piece, Request, Reset, Run, Tag, Unrepairable

__all__ = [
    "Ack",
    "Cast",
    "Channel",
    "Deliver",
    "Drop",
    "Effect",
    "Freed",
    "Highest",
    "Install",
    "Lost",
    "Node",
    "Packet",
    "Piece",
    "Request",
    "Reset",
    "Run",
    "Tag",
    "Unicast",
    "Unrepairable",
]
