"""What became of a delivery, as an event for the recording: handed over, spooled, or not read (G15)."""

from __future__ import annotations

from collections.abc import Mapping

from ringcast.core.effects import Deliver, Dequeue
from ringcast.model import STREAMS_PER_EPOCH, Event, Kind

IN_THE_STATE = {"why": "it is part of the state that is loaded", "told": "state"}
WITHOUT_STATE = {"why": "it stands behind a state that was not loaded", "told": "StateError"}


def fate(kind: Kind, now_ns: int, delivered: Deliver, detail: Mapping[str, str] | None = None) -> Event:
    """Of a delivery in the one order the numbers are those of the order, and `value` says so."""
    stream = delivered.epoch * STREAMS_PER_EPOCH + delivered.channel if delivered.epoch else 0
    is_ordered = int(isinstance(delivered, Dequeue))
    run = delivered.first, delivered.count
    return Event(kind, now_ns, None, delivered.origin, stream, *run, value=is_ordered, detail=detail)
