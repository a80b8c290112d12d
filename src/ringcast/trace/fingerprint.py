"""A hash of what happened, equal for equal histories: the proof that a seed replays a run bit for bit.

It covers every field of every event in order, and does not depend on the process, its hash seed or how maps were built.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from operator import attrgetter

import msgspec

from ringcast.model import Address, Event
from ringcast.trace.block import COLUMNS

_encode = msgspec.msgpack.Encoder(order="sorted").encode
_columns_of = attrgetter(*COLUMNS)


def trace_hash(events: Iterable[Event]) -> str:
    """The hash of one member's events."""
    digest = hashlib.sha256()
    for event in events:
        digest.update(_encode(_columns_of(event)))
    return digest.hexdigest()


def run_hash(run: Mapping[Address, Iterable[Event]]) -> str:
    """The hash of a whole run, whatever order its members are given in."""
    digest = hashlib.sha256()
    for member in sorted(run):
        digest.update(_encode([member, trace_hash(run[member])]))
    return digest.hexdigest()
