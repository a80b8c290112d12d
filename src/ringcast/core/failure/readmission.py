"""When a member that was excluded although it lives may come back: later each time, so that a bad link costs few views.

Counted are exclusions because of complaints: two members did not hear each other, and others heard both. Who was silent
to everybody, crashed or left is not held back. The delay doubles with each exclusion up to a limit, and begins anew
when the member was not excluded again for a while. Known by endpoint, for a process that joins again under a new
incarnation stands on the same link. Bounded: the longest known gives way.
"""

from __future__ import annotations

from typing import NamedTuple

from ringcast.model import Address

CAPACITY = 1024
CALM = 4  # times the delay without an exclusion: then the next delay is the first again


class Held(NamedTuple):
    since_ns: int
    delay_ns: int


class Readmission:
    def __init__(self, first_ns: int, most_ns: int) -> None:
        self.first_ns = first_ns
        self.most_ns = most_ns
        self._held: dict[str, Held] = {}

    def on_excluded(self, now_ns: int, member: Address) -> None:
        before = self._held.pop(member.endpoint, None)
        delay_ns = self.first_ns
        if before is not None and now_ns - before.since_ns < CALM * before.delay_ns:
            delay_ns = min(self.most_ns, 2 * before.delay_ns)
        if len(self._held) >= CAPACITY:
            del self._held[next(iter(self._held))]
        self._held[member.endpoint] = Held(now_ns, delay_ns)

    def is_held(self, now_ns: int, member: Address) -> bool:
        """Not yet: its link may still be bad."""
        return self.wait_ns(now_ns, member) > 0

    def wait_ns(self, now_ns: int, member: Address) -> int:
        """How long it is still held back."""
        held = self._held.get(member.endpoint)
        return 0 if held is None else max(0, held.since_ns + held.delay_ns - now_ns)
