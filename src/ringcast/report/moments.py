"""What happened, in order and in words: faults, views, suspicions, violations. Each is a place on the time axis."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from ringcast.report.names import Names

if TYPE_CHECKING:
    from ringcast.report.subject import Shown

_AGAIN_SECONDS = 5.0  # a second suspicion of the same member within this is not told
_WORDS = {
    "kill": "{} killed",
    "crash": "{} crashed",
    "crashed": "{} crashed",
    "start": "{} started",
    "leave": "{} leaves",
    "freeze": "{} frozen",
    "isolate": "{} isolated",
    "heal": "all faults are over",
}


class Moment(NamedTuple):
    """`kind` is fault, end (of a fault), view, suspicion or violation."""

    t: float
    kind: str
    words: str


def moments_of(drawn: Mapping[str, Any], names: Names, violations: Iterable[Shown]) -> list[Moment]:
    """In the order of time."""
    found = [*_faults(drawn), *_views(drawn, names), *_suspicions(drawn, names)]
    for shown in violations:
        if shown.t is not None:
            found.append(Moment(shown.t, "violation", f"{shown.guarantee} violated: {shown.sentence}"))
    return sorted(found)


def fault_words(fault: Mapping[str, Any]) -> str:
    """A fault as people say it."""
    whom = list(fault["whom"])
    told = ", ".join(whom[:3]) + (f" and {len(whom) - 3} more" if len(whom) > 3 else "")
    if fault["what"] == "cut":
        sides = [side.strip().replace(" ", ", ") for side in told.split("|")]
        return f"network cut between {sides[0]} and {sides[1]}" if len(sides) == 2 else f"network cut: {told}"
    words = _WORDS.get(fault["what"])
    return words.format(told) if words else f"{fault['what']} {told}".strip()


def _faults(drawn: Mapping[str, Any]) -> Iterable[Moment]:
    heals = [fault["from"] for fault in drawn["faults"] if fault["what"] == "heal"]
    for fault in drawn["faults"]:
        yield Moment(fault["from"], "end" if fault["what"] == "heal" else "fault", fault_words(fault))
        if fault["to"] not in (fault["from"], *heals) and fault["to"] < drawn["now"]:
            yield Moment(fault["to"], "end", f"over: {fault_words(fault)}")


def _views(drawn: Mapping[str, Any], names: Names) -> Iterable[Moment]:
    for view in drawn["views"]:
        members = ", ".join(map(names.of, view["members"]))
        sides = [", ".join(map(names.of, side)) for side in view["subgroups"]]
        merged = f", merged from {' and '.join(sides)}" if sides else ""
        primary = {True: ", primary", False: ", not primary"}.get(view["primary"], "")
        yield Moment(view["t"], "view", f"view {view['label']}: {members}{merged}{primary}")


def _suspicions(drawn: Mapping[str, Any], names: Names) -> Iterable[Moment]:
    told: dict[str, float] = {}
    for one in drawn["suspicions"]:
        if one["t"] - told.get(one["whom"], -1e9) > _AGAIN_SECONDS:
            why = f" ({names.within(one['why'])})" if one["why"] else ""
            yield Moment(one["t"], "suspicion", f"{names.of(one['by'])} suspects {names.of(one['whom'])}{why}")
        told[one["whom"]] = one["t"]
