"""What is asked of a coordinator, and the queue in which it waits for the next view.

Invariants: no request stands twice in the queue (same kind, same member); it never holds more than its capacity;
a batch is the longest front part of the queue that may share one view, so order is kept and a coordinator's own
leave goes alone. Not a decision: whether a request may enter at all is the handler's table (handler_table.py).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum

from ringcast.model import Address


class RequestKind(StrEnum):
    """What leads to a new view: the events of seed 004 (COORD_LEAVE is the coordinator's own leave), and PRIMARY."""

    JOIN = "JOIN"
    JOIN_WITH_STATE = "JOIN_WITH_STATE"
    LEAVE = "LEAVE"
    COORD_LEAVE = "COORD_LEAVE"
    SUSPECT = "SUSPECT"
    PRIMARY = "PRIMARY"  # of the coordinator itself: the view has the votes to be followed by a primary one

    @property
    def is_join(self) -> bool:
        return self in (RequestKind.JOIN, RequestKind.JOIN_WITH_STATE)


@dataclass(frozen=True, slots=True)
class Request:
    """`said` is what the asker told about itself: carried for the roll call, not looked at here."""

    kind: RequestKind
    member: Address
    said: object = field(default=None, compare=False)

    @property
    def has_asker(self) -> bool:
        """Somebody waits for an answer. A suspicion has nobody: it is raised again until a view; so is PRIMARY."""
        return self.kind not in (RequestKind.SUSPECT, RequestKind.PRIMARY)

    @property
    def goes_alone(self) -> bool:
        return self.kind is RequestKind.COORD_LEAVE


class RequestQueue:
    """Requests in order of arrival."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self._requests: dict[Request, None] = {}

    def __len__(self) -> int:
        return len(self._requests)

    def __contains__(self, request: Request) -> bool:
        return request in self._requests

    @property
    def is_full(self) -> bool:
        return len(self._requests) >= self.capacity

    def add(self, request: Request) -> None:
        self._requests.setdefault(request)

    def take_batch(self) -> tuple[Request, ...]:
        """The requests for one view; the rest stays queued."""
        batch: list[Request] = []
        for request in self._requests:
            if batch and (request.goes_alone or batch[0].goes_alone):
                break
            batch.append(request)
        for request in batch:
            del self._requests[request]
        return tuple(batch)

    def take_where(self, matches: Callable[[Request], bool]) -> list[Request]:
        taken = [request for request in self._requests if matches(request)]
        for request in taken:
            del self._requests[request]
        return taken
