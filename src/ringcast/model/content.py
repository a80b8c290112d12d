"""The digest of what a run carries: equal content under equal seqnos, whoever computes it and however runs are cut.

Each message counts as the CRC-32 of its bytes, begun with the seqno of its last item, plus one; a run is the sum of the
messages that end in it. So runs that follow each other are added, and two members that cut them differently can be
compared wherever both end a run. One call into C per message.
Not a proof against forgery: it finds mistakes and members that deliver something else, not who computes collisions.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from zlib import crc32

INCOMPLETE = -1  # of a run in which a message was too large to be taken: it cannot be compared


def content_of(first: int, messages: Sequence[bytes], ends: Iterable[int] | None = None) -> int:
    """Of whole messages: one for each seqno from `first` on, or each with its last seqno."""
    numbers = range(first, first + len(messages)) if ends is None else ends
    return sum(map(crc32, messages, numbers)) + len(messages)
