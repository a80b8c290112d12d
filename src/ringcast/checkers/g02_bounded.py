"""G2, bounded: no window ever holds more than `capacity` messages.

The send window is recomputed from SEND and PURGE and compared with what the member claims; a receive window reports
what it holds with every DELIVER and WINDOW (value, other = capacity). The multicast's capacity is agreed with the view;
a ring is not shrunk while it holds anything, so a smaller agreement binds from the moment when the window is empty. The
group uses the smallest: a view never agrees on more messages or bytes than a member of it was configured with. A
receive window may have the largest capacity of the views so far; what its member was configured with counts only where
no view says one.
Other streams have the capacity of the config (`stream_capacity`, or `control_capacity` if that is more).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ringcast.checkers.shape import Closed, Evidence, Finding, Report
from ringcast.checkers.views import installed
from ringcast.model import Address, Event, Kind
from ringcast.trace import detail_of


@dataclass(slots=True)
class _Window:
    """A send window as the events imply it."""

    low: int
    high: int
    capacity: int

    @property
    def held(self) -> int:
        return self.high - self.low


@dataclass(slots=True)
class _Member:
    agreed: int = 0  # 0 = not known
    configured: int = 0
    configured_bytes: int = 0
    largest: int = 0  # the largest capacity that a view agreed on
    stream_capacity: int = 0
    windows: dict[int, _Window] = field(default_factory=dict)


class BoundChecker:
    guarantee = "G2"
    kinds = (Kind.START, Kind.VIEW, Kind.SEND, Kind.PURGE, Kind.DELIVER, Kind.WINDOW)

    def __init__(self) -> None:
        self._report = Report(self.guarantee)
        self._members: dict[Address, _Member] = {}
        self._on = {
            Kind.START: self._on_start,
            Kind.VIEW: self._on_view,
            Kind.SEND: self._on_send,
            Kind.PURGE: self._on_purge,
            Kind.DELIVER: self._on_held,
            Kind.WINDOW: self._on_held,
        }

    def on_event(self, member: Address, index: int, event: Event) -> None:
        state = self._members.get(member)
        if state is None:
            state = self._members[member] = _Member()
        self._on[event.kind](member, index, event, state)

    def _on_start(self, member: Address, index: int, event: Event, state: _Member) -> None:
        config = detail_of(detail_of(event.detail).get("config"))
        streams = (config.get(name) or 0 for name in ("stream_capacity", "control_capacity"))
        state.stream_capacity = max(map(int, streams))
        state.configured = int(config.get("capacity") or 0)
        state.configured_bytes = int(config.get("window_bytes") or 0)
        self._agree(state, state.configured)

    def _on_view(self, member: Address, index: int, event: Event, state: _Member) -> None:
        view = installed(event)
        capacity = view.capacity
        agreed = ("messages", capacity, state.configured), ("bytes", view.window_bytes, state.configured_bytes)
        for unit, more, own in agreed:
            if own and more > own:
                sentence = f"{member}'s view agrees on a window of {more} {unit}, this member was configured with {own}"
                self._violated(member, index, event, sentence)
        state.largest = max(state.largest, capacity)
        self._agree(state, capacity)

    def _agree(self, state: _Member, capacity: int) -> None:
        if not capacity:
            return
        state.agreed = capacity
        window = state.windows.get(0)
        if window is not None and (window.held == 0 or capacity > window.capacity):
            window.capacity = capacity

    def _on_send(self, member: Address, index: int, event: Event, state: _Member) -> None:
        self._report.examined += 1
        window = state.windows.get(event.stream)
        if window is None:
            capacity = state.stream_capacity if event.stream else state.agreed
            window = state.windows[event.stream] = _Window(event.first - 1, event.first - 1, capacity)
        window.high = max(window.high, event.first + event.count - 1)
        where = f"{member}'s send window{_of_stream(event)}"
        if window.capacity and window.held > window.capacity:
            self._violated(member, index, event, f"{where} held {window.held}, its capacity is {window.capacity}")
        elif event.value != window.held:
            self._violated(member, index, event, f"{where} claims to hold {event.value}, its events say {window.held}")
        if not window.capacity:
            self._report.lacks(f"the capacity of {where}")

    def _on_purge(self, member: Address, index: int, event: Event, state: _Member) -> None:
        window = state.windows.get(event.stream)
        if window is None:
            return
        window.low = max(window.low, event.value)
        if window.held <= 0 and not event.stream:
            window.capacity = state.agreed

    def _on_held(self, member: Address, index: int, event: Event, state: _Member) -> None:
        if not event.other:
            return
        self._report.examined += 1
        where = f"{member}'s receive window for {event.peer}{_of_stream(event)}"
        allowed = state.stream_capacity if event.stream else state.largest or state.configured
        if event.value > event.other:
            self._violated(member, index, event, f"{where} held {event.value}, its capacity is {event.other}")
        elif allowed and event.other > allowed:
            self._violated(member, index, event, f"{where} has capacity {event.other}, more than the agreed {allowed}")

    def _violated(self, member: Address, index: int, event: Event, sentence: str) -> None:
        self._report.violated((member,), index, sentence, Evidence.of(member, index, event))

    def finish(self, closed: Closed) -> Finding:
        return self._report.finding()


def _of_stream(event: Event) -> str:
    return f" of stream {event.stream}" if event.stream else ""
