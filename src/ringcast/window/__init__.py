"""The rings: fixed windows of messages at a sender and at a receiver, and the acks between them.

Pure data with marks on it: no clock, no network, no protocol. The unit is the run: consecutive messages of one sender.
"""

from ringcast.window.acks import AckMap
from ringcast.window.audit import Audit
from ringcast.window.lengths import Alike, largest, lengths_of, total
from ringcast.window.ranges import Ranges
from ringcast.window.receive import Admitted, ReceiveWindow
from ringcast.window.ring import Ring
from ringcast.window.send import SendWindow

__all__ = [
    "AckMap",
    "Admitted",
    "Alike",
    "Audit",
    "Ranges",
    "ReceiveWindow",
    "Ring",
    "SendWindow",
    "largest",
    "lengths_of",
    "total",
]
