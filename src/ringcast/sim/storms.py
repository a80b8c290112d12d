"""Whether anybody was flooded with repairs: the same message, to the same member, three times within an interval.

Once before and once after the tick of an interval is allowed. An interval is one of the member's own clock: one that
runs fast, by a fault, makes it shorter. A property of the protocol that no guarantee names.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ringcast.model import Address, Kind
from ringcast.trace import Recording

_MILLION = 1_000_000
_FOREVER_NS = 1 << 62


def storms(recordings: Iterable[Recording]) -> Iterator[str]:
    """A sentence for each member that sent a storm."""
    recordings = list(recordings)
    clocks = _FastClocks(recordings)
    for recording in recordings:
        found = _storm(recording, clocks)
        if found is not None:
            yield found


def _storm(recording: Recording, clocks: _FastClocks) -> str | None:
    interval_ns = int(recording.header.config.get("xmit_interval_ns", 0))
    name = str(recording.member).partition("#")[0]
    times: dict[tuple[Address | None, str, int, int], tuple[int, int]] = {}  # the last two times of each repair
    for event in recording.events:
        if event.kind is not Kind.REPAIR:
            continue
        origin = "" if event.detail is None else str(event.detail["origin"])
        for seqno in range(event.first, event.first + event.count):
            key = event.peer, origin, event.stream, seqno
            before, last = times.get(key, (-interval_ns, -interval_ns))
            if before >= 0 and clocks.passed_ns(name, before, event.t_ns) < interval_ns:
                return f"{recording.member} sent {seqno} to {event.peer} three times within {interval_ns / 1e6:g} ms"
            times[key] = last, event.t_ns
    return None


class _FastClocks:
    """When whose clock ran fast, as the harness recorded it."""

    def __init__(self, recordings: Iterable[Recording]) -> None:
        self._spans: list[tuple[list[str], int, int, int]] = []  # whose (nobody named: everybody's), from, until, ppm
        for recording in recordings:
            begun: dict[str, tuple[list[str], int, int]] = {}
            for event in recording.events:
                detail = event.detail or {}
                if event.kind is Kind.FAULT and detail.get("what") == "clock" and float(detail["amount"]) > 0:
                    begun[str(detail["members"])] = (list(detail["members"]), event.t_ns, int(detail["amount"]))
                elif event.kind is Kind.HEAL and detail.get("what") in ("clock", "all"):
                    ended = list(begun) if detail["what"] == "all" else [str(detail["members"])]
                    for names, since_ns, rate in [begun.pop(each) for each in ended if each in begun]:
                        self._spans.append((names, since_ns, event.t_ns, rate))
            self._spans += [(names, since_ns, _FOREVER_NS, rate) for names, since_ns, rate in begun.values()]

    def passed_ns(self, name: str, since_ns: int, until_ns: int) -> int:
        """How much passed on this member's clock, if no other fault slowed it down."""
        gained = 0
        for names, begin, end, rate in self._spans:
            if not names or name in names:
                gained += max(0, min(end, until_ns) - max(begin, since_ns)) * rate // _MILLION
        return until_ns - since_ns + gained
