"""Who is not in the group and why; who is about to go or to come; and what a merge joined, in words.

Answers "why is D not in the group?" and "did the merge lose anything?" from the chronicle. Changes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

from ringcast.model import Address
from ringcast.runtime.chronicle import Departure, Reunion
from ringcast.runtime.driver import Driver
from ringcast.runtime.words import heard_seconds
from ringcast.wire import ENCRYPTED

APART_SECONDS = 60.0  # a side that was met so long ago may be gone
ASKED_SECONDS = 10.0  # a joiner that asked longer ago has given up, or found another way
OTHER_GROUP = "another group's frame"

_REASONS = {
    "silent": "nothing was heard from it for {silent:.1f} s",
    "no progress": "it was alive, but its event loop stood still for more than {stall:.0f} s",
    "reported from outside": "somebody outside the group reported it dead",
    "two members do not hear each other": "it and another member did not hear each other, and others heard both",
    "has another view": "it held another view for too long",
}


@dataclass(frozen=True, slots=True)
class Absence:
    """Somebody who is not in the view, one entry of `absent` in `ringcast status`."""

    member: str
    because: str
    since_seconds: float
    returns: str  # how it comes back

    def __str__(self) -> str:
        return f"{self.member} is not in the group: {self.because}\n    {self.returns}"


def absences(driver: Driver) -> list[Absence]:
    """Those who ask to come, then those who went, by name."""
    chronicle, now = driver.chronicle, driver.now_ns()
    gone = [_absence(driver, departure, now) for _, departure in sorted(chronicle.departed.items())]
    asking = [
        Absence(
            str(member),
            f"it asked to join {age:.1f} s ago and was told {asked.answer!r}",
            age,
            _REFUSED if asked.answer.startswith("refused") else _ASKING,
        )
        for member, asked in chronicle.joiners.items()
        if (age := (now - asked.at_ns) / 1e9) < ASKED_SECONDS
    ]
    apart = [
        Absence(str(other), f"it leads another side, which cannot merge with this one: {why}", (now - at) / 1e9, _APART)
        for other, (at, why) in chronicle.apart.items()
        if (now - at) / 1e9 < APART_SECONDS
    ]
    return asking + apart + gone


_APART = "the two sides merge when what the message names is the same at all members"
_REFUSED = "its join has failed; it can join when what the message names is the same at all members"
_ASKING = "it is let in with the next view; told busy, it asks again by itself"


def _absence(driver: Driver, departure: Departure, now_ns: int) -> Absence:
    ago = (now_ns - departure.at_ns) / 1e9
    if departure.has_left:
        return Absence(
            str(departure.member), f"it left in good order {ago:.1f} s ago", ago, "it returns if it joins again"
        )
    because = f"excluded {ago:.1f} s ago (view {departure.view}), because {_reason(driver, departure)}"
    return Absence(str(departure.member), because, ago, _return(driver, departure))


def _reason(driver: Driver, departure: Departure) -> str:
    """Silence explains whatever else was noticed; without a finding of its own this member names who decided."""
    config, why = driver.node.config, departure.why
    if departure.silent_ns >= config.suspect_after_ns:
        why = "silent"
    if not why:
        return f"{departure.view.creator} took it for dead"
    words = _REASONS.get(why, f"it {why}")
    return words.format(silent=departure.silent_ns / 1e9, stall=config.stall_limit_ns / 1e9)


def _return(driver: Driver, departure: Departure) -> str:
    coordination = driver.node.coordination
    held_ns = 0 if coordination is None else coordination.readmission.wait_ns(driver.now_ns(), departure.member)
    if held_ns:
        words = f"two members did not hear each other, so it is held back; it may come back in {held_ns / 1e9:.1f} s"
        causes = () if coordination is None else coordination.readmission.causes(driver.now_ns(), departure.member)
        if not causes:
            return words
        calm = driver.node.config.suspect_after_ns / 1e9
        ends = " and ".join(map(str, causes))
        return f"{words}, or when it and {ends} have heard each other for {calm:.1f} s"
    heard = driver.heard.get(departure.member, 0)
    if heard <= departure.at_ns:
        return "nothing was heard from it since; if it still runs it comes back by merge as soon as it can be reached"
    words = f"it was heard again {heard_seconds(driver, departure.member):.1f} s ago, so the two sides will merge"
    failed = driver.chronicle.failed_merge
    return words if failed is None else f"{words}; the last attempt failed: {failed[1]}"


def suspicions(driver: Driver) -> dict[Address, str]:
    """Members of the view that are suspected, with the reason: a view without them is on its way."""
    coordination = driver.node.coordination
    return {} if coordination is None else dict(coordination.membership.suspicions.members)


def nobody_answered(driver: Driver) -> str | None:
    """A member that is alone although it was told where others may be. Who does not open its frames says nothing."""
    if not driver.node.has_group or len(driver.node.view.members) > 1:
        return None
    heard = {peer.endpoint for peer in driver.heard}
    silent = [place for place in driver.asked if place != driver.node.me.endpoint and place not in heard]
    if not silent:
        return None
    return (
        f"alone: nobody answers at {', '.join(silent[:4])}, and it is asked again every few seconds; "
        "a process there with another group name or key does not answer, and its log says what it dropped"
    )


def strangers(driver: Driver) -> str | None:
    """Somebody of another group talks to this member: often a group's name that is spelled in two ways."""
    sealed = driver.drops.get(ENCRYPTED, 0)
    if sealed:
        return f"{sealed} packets arrived here {ENCRYPTED}: give it the others' key (key=, --key-file)"
    count = driver.drops.get(OTHER_GROUP, 0)
    if not count:
        return None
    return f"{count} packets of another group arrived here; is the group's name the same on both sides?"


def merge_in_words(reunion: Reunion, now_ns: int) -> str:
    """What became of the messages of both sides."""
    sides = " with ".join("{" + ", ".join(map(str, side)) + "}" for side in reunion.view.subgroups)
    lines = [f"merged {(now_ns - reunion.at_ns) / 1e9:.1f} s ago, in view {reunion.view.id}: {sides}"]
    for other in reunion.apart:
        if other.missed is None:
            lines.append(f"    {other.member} was never met before; its messages are delivered here from now on")
        elif other.missed:
            lines.append(
                f"    {other.member} sent {other.missed} messages while apart: delivered on its side, not here"
            )
        else:
            lines.append(f"    {other.member} sent nothing while apart")
    lines.append("    nothing was repeated, and nothing that was delivered before is undone;")
    lines.append("    what this side sent meanwhile was delivered on this side only (ask the others how much)")
    return "\n".join(lines)
