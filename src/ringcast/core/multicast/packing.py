"""Cutting messages into packets: small ones share a run, large ones are split into pieces.

Every piece of a large message takes a seqno of its own, so the window repairs it like anything else; order within
the stream puts it together again. Bounded: a message above `max_message_bytes` is refused at the sender and
dropped, with a reason, at the receiver.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from zlib import crc32

from ringcast.core.packets import Piece, Tag
from ringcast.errors import ConfigError
from ringcast.model import MAX_ENDPOINT, MAX_NAME, Address, Config, View, ViewId
from ringcast.window import Alike

FIXED_BYTES = 48  # everything in the frame of a run that is not an address or an item
ITEM_BYTES = 2  # an item's place in the length table
RANGE_BYTES = 16
LONGEST_ADDRESS = 10 + MAX_NAME + MAX_ENDPOINT
SLACK_BYTES = 192  # an item leaves this much of a frame free, because a repair may go out under a longer tag


def run_budget(frame_bytes: int, me: Address, tag: Tag) -> int:
    """How many bytes of items (with their places in the length table) a frame can carry."""
    creator = 0 if isinstance(tag, int) else tag.creator.wire_bytes
    return frame_bytes - FIXED_BYTES - 2 * me.wire_bytes - creator


def foreign_budget(frame_bytes: int, me: Address, origin: Address, tag: ViewId) -> int:
    """The same for a run of somebody else's messages."""
    return frame_bytes - FIXED_BYTES - me.wire_bytes - origin.wire_bytes - tag.creator.wire_bytes


def ranges_budget(frame_bytes: int, me: Address, origin: Address) -> int:
    """How many ranges a request to this origin can carry, whoever made the view that it names."""
    room = frame_bytes - FIXED_BYTES - LONGEST_ADDRESS - me.wire_bytes - origin.wire_bytes
    return max(1, room // RANGE_BYTES)


def ack_pace(capacity: int, window_bytes: int) -> tuple[int, int]:
    """So many messages, or bytes, that were read make an ack due: a quarter of the window of who sent them."""
    return max(1, capacity // 4), max(1, window_bytes // 4)


def fair_window_bytes(config: Config, view: View) -> int:
    """How many bytes one member may have on their way: agreed, and such that all others may do so at once.

    What overruns a receiver's buffer is thrown away and sent again; under load that feeds itself. A buffer holds almost
    twice its stated bytes of full frames, and less of small ones: we count on half as much again (decision 0036).
    """
    share = 3 * config.receive_buffer_bytes // 2 // max(1, len(view.members) - 1)
    return min(view.window_bytes or config.window_bytes, max(share, config.frame_bytes))


def cut_runs(items: list[bytes], sizes: Sequence[int], budget: int) -> list[tuple[int, int]]:
    """Index ranges [begin, end) of consecutive items that fit one frame each. Every single item fits one."""
    if type(sizes) is Alike:
        step = max(1, budget // (sizes.each + ITEM_BYTES))
        return [(at, min(at + step, len(sizes))) for at in range(0, len(sizes), step)]
    ends = list(accumulate(size + ITEM_BYTES for size in sizes))
    cuts = []
    begin = used = 0
    while begin < len(items):
        end = max(begin + 1, bisect_right(ends, used + budget, lo=begin))
        cuts.append((begin, end))
        begin, used = end, ends[end - 1]
    return cuts


def largest_item(budget: int) -> int:
    """The longest payload that travels whole."""
    return budget - ITEM_BYTES - SLACK_BYTES


def largest_whole(config: Config, budget: int) -> int:
    """The largest message that travels in one piece."""
    largest = largest_item(budget)
    if largest < 64:
        raise ConfigError(
            f"frame_bytes {config.frame_bytes} leaves no room for messages beside the addresses; use more"
        )
    return largest


def pieces_of(payload: bytes, budget: int) -> list[bytes]:
    """The payload as pieces that fit a frame each; all but the last say that more follows."""
    size = largest_item(budget)
    starts = range(0, len(payload), size)
    last = starts[-1]
    return [payload[at : at + size] if at == last else Piece(payload[at : at + size]) for at in starts]


def content_of_items(first: int, items: list[bytes]) -> int:
    """`content_of` the messages in these items, some of which are pieces; no message is there in part."""
    content = begin = 0
    for at, item in enumerate(items):
        if type(item) is not Piece:
            value = first + at
            for part in items[begin : at + 1]:
                value = crc32(part, value)
            content += value + 1
            begin = at + 1
    return content
