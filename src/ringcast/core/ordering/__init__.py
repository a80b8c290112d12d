"""One order across hosts (seed 002 under views): sender, destination and sequencer of the group's TOTAL order."""

from ringcast.core.ordering.ordering import Ordering

__all__ = ["Ordering"]
