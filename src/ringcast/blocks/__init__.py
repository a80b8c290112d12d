"""Building blocks on a group: channels, calls, replicated data, locks, tags.

    prices = blocks.ReplicatedDict("prices", str, int)
    async with blocks.join("shop", prices, seeds=["10.0.0.1:7001"]) as group:
        await prices.set("tea", 4)

Several blocks share one group and one port. Built on the public API of `ringcast` alone.
"""

from ringcast.blocks.calls import Answer
from ringcast.blocks.changes import Change, Changes
from ringcast.blocks.channel import Channel
from ringcast.blocks.counter import ReplicatedCounter
from ringcast.blocks.dictionary import ABSENT, ReplicatedDict
from ringcast.blocks.errors import Apart, BlockError, ChangesLost, Gone, LockLost, RemoteError, StaleToken
from ringcast.blocks.locks import Held, Locks
from ringcast.blocks.rpc import Procedure, Rpc
from ringcast.blocks.sets import ReplicatedSet
from ringcast.blocks.shared import Leader, SharedGroup, join
from ringcast.blocks.tokens import Fence, Token

__all__ = [
    "ABSENT",
    "Answer",
    "Apart",
    "BlockError",
    "Change",
    "Changes",
    "ChangesLost",
    "Channel",
    "Fence",
    "Gone",
    "Held",
    "Leader",
    "LockLost",
    "Locks",
    "Procedure",
    "RemoteError",
    "ReplicatedCounter",
    "ReplicatedDict",
    "ReplicatedSet",
    "Rpc",
    "SharedGroup",
    "StaleToken",
    "Token",
    "join",
]
