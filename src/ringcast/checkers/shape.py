"""The common shape of checkers: what they take, what they give back.

A checker is a pure fold: `on_event` for each event, `finish` once. Members may be fed in any interleaving, but each
member's events come in order, from its first on. What a member whose recording is cut did afterwards is unknown, so a
checker never blames silence on it. `examined` says how much was looked at: a checker that saw nothing has not passed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from ringcast.model import Address, Event, Kind

KEPT_VIOLATIONS = 100  # more are counted, not kept
_KEPT_REASONS = 10

Closed = Mapping[Address, bool]
"""For each recorded member: is its recording whole? A member that is not in the map has none."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """Where to look: an event in a member's recording."""

    member: Address
    index: int
    text: str

    @classmethod
    def of(cls, member: Address, index: int, event: Event) -> Evidence:
        return cls(member, index, describe(event))

    def to_json(self) -> dict[str, Any]:
        return {"member": str(self.member), "index": self.index, "event": self.text}


@dataclass(frozen=True, slots=True)
class Violation:
    """A guarantee that did not hold: who, at which event of the first of them, in a sentence with the numbers."""

    guarantee: str
    members: tuple[Address, ...]
    index: int
    sentence: str
    evidence: tuple[Evidence, ...] = ()
    run: str = ""  # named where several are told together

    def to_json(self) -> dict[str, Any]:
        return {
            "members": [str(member) for member in self.members],
            "index": self.index,
            "sentence": self.sentence,
            "events": [item.to_json() for item in self.evidence],
            **({"run": self.run} if self.run else {}),
        }


@dataclass(frozen=True, slots=True)
class Finding:
    """What one checker found. `missing` names records that it needed and did not have."""

    guarantee: str
    examined: int
    violations: list[Violation]
    violation_count: int
    missing: list[str]

    @property
    def verdict(self) -> str:
        if self.violation_count:
            return "violated"
        return "unjudged" if self.missing or not self.examined else "held"


def joined(findings: Sequence[Finding]) -> Finding:
    """What was found about one guarantee in several groups or runs. What one did not exercise is not missing."""
    missing = dict.fromkeys(reason for finding in findings for reason in finding.missing)
    return Finding(
        findings[0].guarantee,
        sum(finding.examined for finding in findings),
        [violation for finding in findings for violation in finding.violations][:KEPT_VIOLATIONS],
        sum(finding.violation_count for finding in findings),
        list(missing)[:_KEPT_REASONS],
    )


class Checker(Protocol):
    """One guarantee. `kinds` are the events it wants to see."""

    @property
    def guarantee(self) -> str: ...

    @property
    def kinds(self) -> tuple[Kind, ...]: ...

    def on_event(self, member: Address, index: int, event: Event) -> None:
        """ValueError, TypeError, LookupError if the event lacks what its kind must carry; nothing was changed then."""

    def finish(self, closed: Closed) -> Finding: ...


@dataclass(slots=True)
class Report:
    """Collects what one checker finds, within bounds."""

    guarantee: str
    examined: int = 0
    violation_count: int = 0
    _violations: list[Violation] = field(default_factory=list)
    _missing: dict[str, None] = field(default_factory=dict)

    def violated(self, members: tuple[Address, ...], index: int, sentence: str, *evidence: Evidence) -> None:
        self.violation_count += 1
        if len(self._violations) < KEPT_VIOLATIONS:
            self._violations.append(Violation(self.guarantee, members, index, sentence, evidence))

    def lacks(self, reason: str) -> None:
        if len(self._missing) < _KEPT_REASONS:
            self._missing[reason] = None

    def lacks_recording_of(self, member: Address) -> None:
        self.lacks(f"there is no recording of {member}")

    def finding(self) -> Finding:
        return Finding(self.guarantee, self.examined, self._violations, self.violation_count, list(self._missing))


def describe(event: Event) -> str:
    """An event in one line."""
    parts = [event.kind.name]
    if event.peer is not None:
        parts.append(str(event.peer))
    if event.count:
        parts.append(run_text(event.first, event.count))
    numbers = {name: getattr(event, name) for name in ("stream", "ordinal", "value", "other")}
    parts += [f"{name}={number}" for name, number in numbers.items() if number]
    if event.view is not None:
        parts.append(f"in {event.view}")
    if event.detail:
        parts.append(_short(str(dict(event.detail))))
    return f"{' '.join(parts)} at {event.t_ns / 1e9:.6f} s"


def is_crash(event: Event) -> bool:
    """A simulated process was ended here, from outside: nothing says that it ran up to this moment."""
    return event.kind is Kind.CLOSED and (event.detail or {}).get("how") == "crashed"


def run_text(first: int, count: int) -> str:
    return str(first) if count == 1 else f"{first}..{first + count - 1}"


def _short(text: str) -> str:
    return text if len(text) <= 200 else text[:197] + "..."
