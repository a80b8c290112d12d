"""Reliable multicast and reliable streams on fixed ring windows (seed 003)."""

from ringcast.core.multicast.multicast import NO_NOTES, Multicast
from ringcast.core.multicast.outside_budget import OutsideBudget
from ringcast.core.multicast.outside_streams import GivingUp
from ringcast.core.multicast.packing import FIXED_BYTES, ITEM_BYTES, largest_item, largest_whole, pieces_of, run_budget
from ringcast.core.multicast.peer_streams import PeerStreams

__all__ = [
    "FIXED_BYTES",
    "ITEM_BYTES",
    "NO_NOTES",
    "GivingUp",
    "Multicast",
    "OutsideBudget",
    "PeerStreams",
    "largest_item",
    "largest_whole",
    "pieces_of",
    "run_budget",
]
