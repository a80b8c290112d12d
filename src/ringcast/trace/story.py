"""A history told by hand, event by event: for tests of checkers, rules and readers, and to explain a guarantee.

    story = Story("ab", capacity=4).view("ab").send("a", 2).deliver("b", "a", 1, 2)

Each line adds one event to one member's recording. Nothing is checked here, so a story can tell what must never happen.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ringcast.model import Address, Event, Kind, ViewId
from ringcast.trace.header import Header
from ringcast.trace.reader import Recording
from ringcast.trace.recorder import MemoryRecorder, closed_event

MS = 1_000_000


def address(name: str) -> Address:
    """The address that a name in a story stands for."""
    return Address(name, 1, f"127.0.0.1:{5000 + ord(name[0])}")


class Story:
    """Members are named by letters; time moves by one millisecond with each event."""

    def __init__(self, members: str, capacity: int = 64, **config: Any) -> None:
        self.now_ns = 0
        settings = {"capacity": capacity, "stream_capacity": capacity, "self_delivery": True, **config}
        self.recorders = {name: MemoryRecorder(Header(address(name), "g", settings)) for name in members}
        self.views: dict[str, ViewId] = {}
        self.lows: dict[tuple[str, int], int] = {}
        self.highs: dict[tuple[str, int], int] = {}
        self.ordinals: dict[str, int] = {}
        self.capacity = capacity

    def event(self, member: str, kind: Kind, peer: str | None = None, **fields: Any) -> Story:
        """Any event; `view` is the member's current one unless given."""
        self.now_ns += MS
        fields.setdefault("view", self.views.get(member))
        self.recorders[member].append(Event(kind, self.now_ns, peer=None if peer is None else address(peer), **fields))
        return self

    def view(self, members: str, number: int = 1, at: str | None = None, creator: str = "", **detail: Any) -> Story:
        """The view with these members, installed at each of them (or only at those in `at`)."""
        view_id = ViewId(number, address(creator or members[0]))
        for name in members if at is None else at:
            self.event(name, Kind.VIEW, view=view_id, detail=self._view_detail(name, members, detail))
            self.views[name] = view_id
        return self

    def _view_detail(self, name: str, members: str, detail: Mapping[str, Any]) -> dict[str, Any]:
        full: dict[str, Any] = {"members": addresses(members), "previous": self.views.get(name)}
        full["capacity"] = self.capacity
        return {**full, **detail}

    def send(self, member: str, count: int, stream: int = 0, **fields: Any) -> Story:
        """The next `count` messages; the occupancy is kept true unless `value` is given."""
        first = fields.pop("first", self.highs.get((member, stream), 0) + 1)
        self.highs[member, stream] = first + count - 1
        low = self.lows.get((member, stream), 0)
        fields.setdefault("value", first + count - 1 - low)
        return self.event(member, Kind.SEND, stream=stream, first=first, count=count, other=low, **fields)

    def deliver(self, member: str, sender: str, first: int, count: int, **fields: Any) -> Story:
        ordinal = self.ordinals.get(member, 0)
        if not fields.get("stream"):
            self.ordinals[member] = ordinal + count
        fields.setdefault("ordinal", ordinal)
        fields = {"value": 0, "other": self.capacity, **fields}
        return self.event(member, Kind.DELIVER, sender, first=first, count=count, **fields)

    def taken(self, member: str, sender: str, first: int, count: int, **fields: Any) -> Story:
        return self.event(member, Kind.TAKEN, sender, first=first, count=count, **fields)

    def ack(self, member: str, receiver: str, upto: int, **fields: Any) -> Story:
        return self.event(member, Kind.ACK, receiver, value=upto, **fields)

    def purge(self, member: str, upto: int, stream: int = 0, **fields: Any) -> Story:
        low = self.lows.get((member, stream), 0)
        self.lows[member, stream] = upto
        return self.event(member, Kind.PURGE, stream=stream, first=low + 1, count=upto - low, value=upto, **fields)

    def offset(self, member: str, sender: str, value: int, cause: str = "view", **fields: Any) -> Story:
        return self.event(member, Kind.OFFSET, sender, value=value, detail={"cause": cause}, **fields)

    def passed(self, receivers: str, sender: str, count: int) -> Story:
        """A whole exchange: sent, delivered and taken by all of them, acked, purged."""
        self.send(sender, count)
        last = self.highs[sender, 0]
        for name in receivers:
            self.deliver(name, sender, last - count + 1, count).taken(name, sender, last - count + 1, count)
        for name in receivers.replace(sender, ""):
            self.ack(sender, name, last)
        return self.purge(sender, last)

    def recordings(self, cut: str = "") -> list[Recording]:
        """Everybody's recording, as if closed now, except those in `cut`. The story may go on after it."""
        return [
            recorder.recording() if name in cut or recorder.closed else self._closed(recorder)
            for name, recorder in self.recorders.items()
        ]

    def _closed(self, recorder: MemoryRecorder) -> Recording:
        events = [*recorder.events, closed_event(self.now_ns + MS, "ended")]
        return Recording.of(recorder.header, events, closed=True)


def addresses(names: Iterable[str]) -> list[Address]:
    return [address(name) for name in names]


def digest(entries: Mapping[str, int | Sequence[int]]) -> list[list[Any]]:
    """Digest rows from `{"a": 7}` or `{"a": (low, delivered, received)}`."""
    rows = []
    for name, entry in entries.items():
        low, delivered, received = (0, entry, entry) if isinstance(entry, int) else entry
        rows.append([address(name), low, delivered, received])
    return rows
