"""Runs of one sender that continue each other, made one run before the core sees them.

One wake of the transport brings many frames; what the core and the application do per run then happens once per wake
and sender. To the protocol this looks like one larger packet; between senders it is a reordering such as any network
may do. A packet that is no multicast run is a fence: what came before it is handed on before it.
Where the native part was built, it reads the frames that repeat themselves (decision 0038); `coalesced` does the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

from ringcast.core import Ack, Channel, Drop, Envelope, Highest, Packet, Piece, Run
from ringcast.model import Address
from ringcast.transport import Frame

MOST_OPEN = 64  # senders whose runs may be continued; as in native/coalescing_open.h

_GROUP = Channel.GROUP
Decoded = tuple[Address, Packet] | Drop
Decode = Callable[[Frame], Decoded]


def coalescer(decode: Decode) -> Callable[[Iterable[Frame]], list[Decoded]]:
    """`coalesced` with this decoder, in C where that is possible."""
    try:
        from ringcast.native import _coalescing
    except ImportError:
        return partial(coalesced, decode)
    return _coalescing.Coalescer(decode, join, Run, Piece, _GROUP, Ack, Highest)


def coalesced(decode: Decode, frames: Iterable[Frame]) -> list[Decoded]:
    """The frames of one wake, decoded."""
    out: list[Decoded] = []
    open_runs: dict[Address, Run] = {}  # by sender: the last that was handed on, if another may continue it
    for frame in frames:
        decoded = decode(frame)
        run = None if isinstance(decoded, Drop) else decoded[1]
        if isinstance(decoded, Drop) or type(run) is not Run or run.channel is not _GROUP:
            open_runs.clear()
            out.append(decoded)
            continue
        before = open_runs.get(decoded[0])
        if before is None and len(open_runs) == MOST_OPEN:
            open_runs.clear()
        if before is None or not join(before, run):
            open_runs[decoded[0]] = run
            out.append(decoded)
    return out


def join(before: Run, run: Run) -> bool:
    """Put a run behind the one that it continues; False if it does not."""
    if not _continues(before, run):
        return False
    if type(run.items[0]) is Piece or type(before.items[0]) is Piece:
        before.has_pieces = True
    before.items += run.items
    before.nbytes += run.nbytes
    before.low = run.low
    if before.each != run.each:
        before.each = 0
    return True


def _continues(before: Run, run: Run) -> bool:
    """The next seqno of the same stream. Pieces and whole messages may mix; what is for the ordering stays apart."""
    return (
        run.first == before.first + len(before.items)
        and (type(run.items[0]) is Envelope) is (type(before.items[0]) is Envelope)
        and (run.origin is before.origin or run.origin == before.origin)
        and (run.tag is before.tag or run.tag == before.tag)
        and run.low >= before.low
    )
