"""The rings: fixed windows of messages at a sender and at a receiver, and the acks between them.

Pure data with marks on it: no clock, no network, no protocol. The unit is the run: consecutive messages of one sender.
"""

from ringcast.window.acks import AckMap
from ringcast.window.lengths import CUTTER_ITEMS, Alike, LengthTable, cutter, largest, lengths_of, total
from ringcast.window.ranges import Ranges
from ringcast.window.receive import Admitted, ReceiveWindow
from ringcast.window.ring import Audit, Ring
from ringcast.window.send import NO_SPACE, SendWindow, Space

__all__ = [
    "CUTTER_ITEMS",
    "NO_SPACE",
    "AckMap",
    "Admitted",
    "Alike",
    "Audit",
    "LengthTable",
    "Ranges",
    "ReceiveWindow",
    "Ring",
    "SendWindow",
    "Space",
    "cutter",
    "largest",
    "lengths_of",
    "total",
]
