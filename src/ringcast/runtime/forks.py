"""A process that forks after it joined: the group belongs to the parent, and the child has none.

Both would speak as one member, with one stream and two minds. So in the child every group refuses every call, its
node is asked for nothing more, and its recording is left to the parent. The parent notices nothing.
"""

from __future__ import annotations

import os
from typing import Protocol
from weakref import WeakSet


class Forked(Protocol):
    def on_forked(self) -> None:
        """This is the child."""


_here: WeakSet[Forked] = WeakSet()


def ends_with_fork(one: Forked) -> None:
    """From now on, as long as it lives."""
    _here.add(one)


def _in_child() -> None:
    for one in list(_here):
        one.on_forked()
    _here.clear()


os.register_at_fork(after_in_child=_in_child)
