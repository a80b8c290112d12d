"""Giving the state of a simulated application to those who join with it, part by part, as far as there is room.

The state is cut when the application comes to the order, between two things that it reads; the parts of it go out
beside everything else. A transfer may be over before its order is read: then there is nothing to give.
Now and then an application cannot go on half way, as drawn; the joiner learns why.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from ringcast.core import Effect, Node, ProvideState
from ringcast.model import Address
from ringcast.sim.tally import Tally

UNREADABLE = "the disk cannot be read"


@dataclass(slots=True)
class Gift:
    """What one joiner has not been given yet."""

    parts: deque[bytes]
    error: str | None = None


class StateGiving:
    """All transfers from one process."""

    __slots__ = ("_gifts", "_node")

    def __init__(self, node: Node) -> None:
        self._node = node
        self._gifts: dict[Address, Gift] = {}

    @property
    def is_idle(self) -> bool:
        return not self._gifts

    def cut(self, order: ProvideState, tally: Tally, padding: int, *, fails: bool = False) -> None:
        """The application stands at this order."""
        society = self._node.society
        assert society is not None
        if order.joiner not in society.state.giving:
            return
        state, size = tally.written(padding), society.state.chunk_bytes
        parts = deque(state[at : at + size] for at in range(0, len(state), size))
        if fails:
            parts = deque(list(parts)[: len(parts) // 2])
        self._gifts[order.joiner] = Gift(parts, UNREADABLE if fails else None)

    def end(self, joiner: Address) -> None:
        """The core says that this transfer is over."""
        self._gifts.pop(joiner, None)

    def next(self, now_ns: int) -> list[Effect] | None:
        """Give one part that there is room for; None if there is none."""
        node = self._node
        for joiner, gift in self._gifts.items():
            if not node.may_give_state(joiner, len(gift.parts[0]) if gift.parts else 0):
                continue
            if gift.parts:
                return node.give_state(now_ns, joiner, gift.parts.popleft())
            del self._gifts[joiner]
            return node.end_state(now_ns, joiner, gift.error)
        return None
