"""When a member that was excluded although it lives may come back: later each time, so that a bad link costs few views.

Counted are exclusions because of complaints: two members did not hear each other, and others heard both. Who was silent
to everybody, crashed or left is not held back. The delay doubles with each exclusion up to a limit, and begins anew
when the member was not excluded again for a while.

Where the bad links are known that have their other ends in this view, those members ask again and again (apart.py): the
member comes back as soon as all of these links are good, and not before. Only when PATIENCE times the delay is over it
comes back all the same, so that one member that is wrong about its link keeps nobody out for good. Known by endpoint,
for a process that joins again under a new incarnation stands on the same link; for that one the delay alone counts.
Bounded: the longest known gives way.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from ringcast.model import Address

CAPACITY = 1024
PATIENCE = 64  # times the delay: then a member comes back although a link to it is said to be bad
CALM = 4  # times the delay without an exclusion: then the next delay is the first again


@dataclass(slots=True)
class Held:
    member: Address
    since_ns: int
    delay_ns: int
    causes: (
        dict[Address, int] | None
    )  # members with a bad link to it, and until when that counts; None: nobody is known


class Readmission:
    def __init__(self, first_ns: int, most_ns: int, keep_ns: int = 0) -> None:
        """`keep_ns`: what a member said of its link counts so long."""
        self.first_ns = first_ns
        self._keep_ns = keep_ns
        self.most_ns = most_ns
        self._held: dict[str, Held] = {}

    def on_excluded(self, now_ns: int, member: Address, causes: Iterable[Address] = ()) -> int:
        """Hold it back, because of its links to these. Return until when at most."""
        before = self._held.pop(member.endpoint, None)
        delay_ns = self.first_ns
        if before is not None and now_ns - before.since_ns < CALM * self._longest_ns(now_ns, before):
            delay_ns = min(self.most_ns, 2 * before.delay_ns)
        if len(self._held) >= CAPACITY:
            del self._held[next(iter(self._held))]
        self._held[member.endpoint] = Held(member, now_ns, delay_ns, dict.fromkeys(causes, now_ns) or None)
        return now_ns + PATIENCE * delay_ns

    def on_links(self, now_ns: int, member: Address, apart: Collection[Address]) -> None:
        """This member of ours says that it has a bad link to these, and to nobody else who is held back."""
        for held in self._held.values():
            if held.causes is None or member not in held.causes:
                continue
            if held.member in apart:
                held.causes[member] = now_ns + self._keep_ns
            else:
                del held.causes[member]

    def on_good(self, member: Address, outsider: Address) -> None:
        """The link between these two is good again."""
        held = self._held.get(outsider.endpoint)
        if held is not None and held.causes is not None:
            held.causes.pop(member, None)

    def on_view(self, members: Collection[Address]) -> None:
        """The link of a member that is gone itself holds nobody back any more."""
        for held in self._held.values():
            if held.causes is not None:
                held.causes = {cause: until_ns for cause, until_ns in held.causes.items() if cause in members}

    def is_held(self, now_ns: int, member: Address) -> bool:
        """Not yet: its link may still be bad."""
        return self.wait_ns(now_ns, member) > 0

    def wait_ns(self, now_ns: int, member: Address) -> int:
        """How long it is still held back; at most, if it is known which links were bad: they may be good before."""
        held = self._held.get(member.endpoint)
        if held is None or (held.causes is not None and not held.causes):
            return 0
        longest_ns = self._longest_ns(now_ns, held) if held.member == member else held.delay_ns
        return max(0, held.since_ns + longest_ns - now_ns)

    def _longest_ns(self, now_ns: int, held: Held) -> int:
        """Forget links to members that are gone, because their ends say nothing: the delay alone counts."""
        is_known = held.causes is not None and any(now_ns < until_ns for until_ns in held.causes.values())
        return PATIENCE * held.delay_ns if is_known else held.delay_ns

    def causes(self, now_ns: int, member: Address) -> tuple[Address, ...]:
        """Members of ours with a bad link to it, as far as that is known."""
        held = self._held.get(member.endpoint)
        return (
            ()
            if held is None or held.causes is None or held.member != member
            else tuple(cause for cause, until_ns in held.causes.items() if now_ns < until_ns)
        )
