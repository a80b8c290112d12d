"""Says "I am alive" from a thread of its own, so that a busy event loop is slow in the eyes of others, not dead.

Each heartbeat carries the view and how often the core loop has turned. Usually only a member's watchers get them. While
the loop stands still every member does: whoever begins to watch us then would ask a question that nobody answers.
All groups of a process share the thread (runtime/beating.py).
Invariants: the thread touches nothing of the loop but one tuple, replaced as a whole, and a counter that it reads; it
is done with this group when `stop` returns, so the transport may be closed behind it. Not a detector: it only speaks
(decision 0050).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ringcast.core import Heartbeat, Loose
from ringcast.model import Address, ViewId
from ringcast.runtime import beating
from ringcast.transport import Endpoint, Transport
from ringcast.wire import Codec

STILL = 2  # beats without a turn of the loop, then it is taken to stand still

Receiver = tuple[Address, Endpoint]


class Audience(NamedTuple):
    view: ViewId
    watchers: tuple[Receiver, ...]
    everybody: tuple[Receiver, ...]


class Heartbeats:
    """Of one group, from the first audience until `stop`. `codec` must be its own: codecs keep caches."""

    def __init__(
        self,
        codec: Codec,
        transport: Transport,
        turns: Callable[[], int],
        interval_ns: int,
        is_loop_over: Callable[[], bool] = lambda: False,
    ) -> None:
        self._codec = codec
        self._transport = transport
        self._turns = turns
        self.interval = interval_ns / 1e9
        self._audience: Audience | None = None
        self._is_over = False
        self._is_loop_over = is_loop_over  # closed by an application that did not leave: nobody is alive here any more
        self._last_turns = -1
        self._still = 0

    def tell(self, audience: Audience) -> None:
        """From now on these; the first heartbeat leaves at once."""
        self._audience = audience
        if not self._is_over:
            beating.begin(self)

    def stop(self) -> None:
        self._is_over = True
        beating.end(self)

    @property
    def is_over(self) -> bool:
        return self._is_over or self._is_loop_over()

    def beat(self) -> None:
        """One round."""
        audience = self._audience
        if audience is None:
            return
        turns = self._turns()
        self._still = self._still + 1 if turns == self._last_turns else 0
        self._last_turns = turns
        packet = Loose(Heartbeat(audience.view, turns))
        for address, endpoint in audience.everybody if self._still >= STILL else audience.watchers:
            if self._is_over:
                return
            self._transport.send_aside(endpoint, self._codec.encode(packet, address))
