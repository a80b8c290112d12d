"""Runs of one sender that continue each other, made one run before the core sees them.

One wake of the transport brings many frames; what the core and the application do per run then happens once per wake
and sender. To the protocol this looks like one larger packet; between senders it is a reordering such as any network
may do. A packet that is no multicast run is a fence: what came before it is handed on before it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import cast

from ringcast.core import Channel, Drop, Packet, Piece, Run
from ringcast.model import Address
from ringcast.transport import Frame

_GROUP = Channel.GROUP
Decoded = tuple[Address, Packet] | Drop


def coalesced(decode: Callable[[Frame], Decoded], frames: Iterable[Frame]) -> list[Decoded]:
    """The frames of one wake, decoded."""
    out: list[Decoded] = []
    open_runs: dict[Address, Run] = {}  # by sender: the last that was handed on, if another may continue it
    for frame in frames:
        decoded = decode(frame)
        if type(decoded) is Drop or not _is_multicast(cast(tuple[Address, Packet], decoded)[1]):
            open_runs.clear()
            out.append(decoded)
            continue
        sender, run = cast(tuple[Address, Run], decoded)
        before = open_runs.get(sender)
        if before is not None and _continues(before, run):
            before.items += run.items
            before.nbytes += run.nbytes
            before.low = run.low
            if before.each != run.each:
                before.each = 0
        else:
            open_runs[sender] = run
            out.append(decoded)
    return out


def _is_multicast(packet: Packet) -> bool:
    return type(packet) is Run and packet.channel is _GROUP


def _continues(before: Run, run: Run) -> bool:
    """The next seqno of the same stream, of the same kind of item. Pieces stay alone: each fills a frame."""
    kind = type(run.items[0])
    return (
        run.first == before.first + len(before.items)
        and kind is type(before.items[0])
        and kind is not Piece
        and (run.origin is before.origin or run.origin == before.origin)
        and (run.tag is before.tag or run.tag == before.tag)
        and run.low >= before.low
    )
