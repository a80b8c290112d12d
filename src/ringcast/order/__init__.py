"""The ordering rule of seed 002, pure: one comparison key and one receiver's queue (G11, G12, G13)."""

from ringcast.model import TOTAL, Order
from ringcast.order.key import committed_key, staged_key
from ringcast.order.queue import Instance, OrderQueue
from ringcast.order.stamp import Stamp

__all__ = ["TOTAL", "Instance", "Order", "OrderQueue", "Stamp", "committed_key", "staged_key"]
