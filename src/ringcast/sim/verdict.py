"""How a test in a world fails: as an AssertionError that says what was found, and how to see it again.

WorldFailed
├── Violated    a guarantee of ringcast (G1 to G18) did not hold
├── Diverged    applications that should agree do not
├── Unsettled   something did not happen within its limit of virtual time
└── Broke       an application, or something in ringcast, raised what nobody caught
"""

from __future__ import annotations

from collections.abc import Iterable

from ringcast.checkers import judge
from ringcast.trace import Recording


class WorldFailed(AssertionError):
    """The run does not show what it should."""


class Violated(WorldFailed):
    """A guarantee did not hold."""


class Diverged(WorldFailed):
    """Members hold different things."""


class Unsettled(WorldFailed):
    """Virtual time ran out."""


class Broke(WorldFailed):
    """Something was raised and not caught."""


def violations(recordings: Iterable[Recording]) -> list[str]:
    """What the checkers of all guarantees find, a sentence each."""
    findings = judge(recordings).findings
    return [f"{name}: {found.sentence}" for name, finding in findings.items() for found in finding.violations]


def differences(held: dict[str, object]) -> str | None:
    """Who holds what, if it is not the same everywhere; values need only be comparable."""
    groups: list[tuple[object, list[str]]] = []
    for name, value in held.items():
        alike = next((names for other, names in groups if other == value), None)
        if alike is None:
            groups.append((value, [name]))
        else:
            alike.append(name)
    if len(groups) < 2:
        return None
    return "; ".join(f"{', '.join(names)} {'hold' if len(names) > 1 else 'holds'} {value!r}" for value, names in groups)
