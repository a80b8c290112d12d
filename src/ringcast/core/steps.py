"""Steps, the answer of a component: effects for the driver, messages to other members, and calls that wait their turn.

The rule: decide and change state first, then return what to say; call a neighbour through a typed port as the last
thing, and put what it answers in its place in the list. `Coordination.carry_out` sends the messages, depth first and in
order, so that a coordinator has installed a view before its message to any other member exists.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import NamedTuple

from ringcast.core.effects import Effect, SendReliable


class Then(NamedTuple):
    """A call that is made when its turn in the list comes: what is decided before it still sees the state before it.

    Only where that matters, with a comment why (docs/decisions/0073).
    """

    call: Callable[[], Steps]


class Until(Enum):
    """When a suspicion ends, if no view ends it before."""

    HEARD = "the suspect is heard again"
    SHOWN = "the suspect has shown our view"
    VIEW = "the next view"


Steps = list[Effect | SendReliable | Then]
