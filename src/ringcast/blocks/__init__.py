"""Building blocks on a group: channels, calls, replicated data, locks, tags.

    prices = blocks.ReplicatedDict("prices", str, int)
    async with blocks.join("shop", prices, seeds=["10.0.0.1:7001"]) as group:
        await prices.set("tea", 4)

Several blocks share one group and one port. Built on the public API of `ringcast` alone.
"""

from ringcast.blocks.calls import Answer
from ringcast.blocks.channel import Channel
from ringcast.blocks.errors import Apart, BlockError, ChangesLost, Gone, LockLost, RemoteError, StaleToken
from ringcast.blocks.rpc import Procedure, Rpc
from ringcast.blocks.shared import SharedGroup, join

__all__ = [
    "Answer",
    "Apart",
    "BlockError",
    "ChangesLost",
    "Channel",
    "Gone",
    "LockLost",
    "Procedure",
    "RemoteError",
    "Rpc",
    "SharedGroup",
    "StaleToken",
    "join",
]
