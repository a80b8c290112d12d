"""Whether anybody was flooded with repairs: the same message, to the same member, three times within an interval.

Once before and once after the tick of an interval is allowed. A property of the protocol that no guarantee names.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ringcast.model import Address, Kind
from ringcast.trace import Recording


def storms(recordings: Iterable[Recording]) -> Iterator[str]:
    """A sentence for each member that sent a storm."""
    for recording in recordings:
        found = _storm(recording)
        if found is not None:
            yield found


def _storm(recording: Recording) -> str | None:
    interval_ns = int(recording.header.config.get("xmit_interval_ns", 0))
    times: dict[tuple[Address | None, str, int, int], tuple[int, int]] = {}  # the last two times of each repair
    for event in recording.events:
        if event.kind is not Kind.REPAIR:
            continue
        origin = "" if event.detail is None else str(event.detail["origin"])
        for seqno in range(event.first, event.first + event.count):
            key = event.peer, origin, event.stream, seqno
            before, last = times.get(key, (-interval_ns, -interval_ns))
            if event.t_ns - before < interval_ns and before >= 0:
                return f"{recording.member} sent {seqno} to {event.peer} three times within {interval_ns / 1e6:g} ms"
            times[key] = last, event.t_ns
    return None
