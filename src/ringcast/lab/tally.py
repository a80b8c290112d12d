"""What one member received, checked against what must have been sent.

Per sender: messages, bytes, first and last time, and whether every message was the next one. A sender whose messages
change size is checked message by message; the usual case is one comparison per batch.
"""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass, field
from typing import Any

from ringcast.lab.pattern import CYCLE, Pattern
from ringcast.model import Address, Batch, View

END = b"\x00end"


@dataclass(slots=True)
class Received:
    messages: int = 0
    nbytes: int = 0
    first_ns: int = 0
    last_ns: int = 0
    wrong: int = 0
    ends: int = 0


@dataclass(slots=True)
class Tally:
    """Everything received, by the sender's name; the numbers of each incarnation are checked on their own.

    A view may set a new offset for a sender that was not in the view before, so its numbers are then found anew.
    """

    by_sender: dict[str, Received] = field(default_factory=dict)
    views: list[list[str]] = field(default_factory=list)
    _patterns: dict[tuple[str, int], Pattern] = field(default_factory=dict)
    _next: dict[Address, int] = field(default_factory=dict)

    def on_view(self, view: View) -> None:
        self.views.append([str(member) for member in view.members])
        self._next = {sender: number for sender, number in self._next.items() if sender in view}

    def on_rejoin(self) -> None:
        """A new incarnation begins where its first view says."""
        self._next.clear()

    def take(self, batch: Batch) -> None:
        name = batch.sender.name
        seen = self.by_sender.get(name)
        now = time.monotonic_ns()
        if seen is None:
            seen = self.by_sender[name] = Received()
        if not seen.first_ns:
            seen.first_ns = now
        payloads = batch.payloads
        if payloads[-1].startswith(END):
            seen.ends += 1
            payloads = payloads[:-1]
            if not payloads:
                return
        seen.last_ns = now
        self._check(batch.sender, seen, payloads)
        seen.messages += len(payloads)

    def _check(self, sender: Address, seen: Received, payloads: list[bytes]) -> None:
        name = sender.name
        first = self._next.get(sender)
        if first is None:  # the first message fixes where this sender's numbers stand: a joiner comes in the middle
            first = int(payloads[0][:4]) if payloads[0][:4].isdigit() else 0
        size = len(payloads[0])
        if self._pattern(name, size).matches(first, payloads):
            seen.nbytes += size * len(payloads)
        else:
            seen.nbytes += sum(map(len, payloads))
            seen.wrong += sum(
                not self._pattern(name, len(payload)).matches(first + at, [payload])
                for at, payload in enumerate(payloads)
            )
        self._next[sender] = (first + len(payloads)) % CYCLE

    def _pattern(self, name: str, size: int) -> Pattern:
        pattern = self._patterns.get((name, size))
        if pattern is None:
            pattern = self._patterns[name, size] = Pattern(name, size)
        return pattern

    def to_json(self) -> dict[str, Any]:
        return {name: asdict(seen) for name, seen in self.by_sender.items()}
