"""One order across hosts (seed 002 under views): sender, destination and sequencer of the group's TOTAL order."""

from ringcast.core.ordering.decisions import Decision, Multicast, Post
from ringcast.core.ordering.envelope import ANNOUNCEMENT_BYTES, BATCH_BYTES
from ringcast.core.ordering.ordering import Ordering

__all__ = ["ANNOUNCEMENT_BYTES", "BATCH_BYTES", "Decision", "Multicast", "Ordering", "Post"]
