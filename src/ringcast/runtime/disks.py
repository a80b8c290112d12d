"""Mark files that views wait for, in words: our own, and those of others as their answers to a roll call tell.

A view is primary only when its voters have stored that it may come (G17), so a slow disk is a slow view.
Changes nothing.
"""

from __future__ import annotations

from typing import TypedDict

from ringcast.core import Node
from ringcast.runtime.driver import Driver

SLOW_SECONDS = 0.25  # a disk that takes longer is worth a word


class MarkFileMarks(TypedDict):
    """`recent_seconds` = the slowest of the last writes; `writing_seconds` = of the present one, if there is one."""

    path: str
    recent_seconds: float
    writing_seconds: float | None


def mark_file_of(driver: Driver) -> MarkFileMarks | None:
    """How this member's mark file does; None if it has none."""
    if driver.marks is None:
        return None
    writing = _writing_seconds(driver)
    coordination = driver.node.coordination
    recent_ns = 0 if coordination is None else coordination.membership.primacy.file.recent_ns
    return {"path": str(driver.marks.path), "recent_seconds": recent_ns / 1e9, "writing_seconds": writing}


def _writing_seconds(driver: Driver) -> float | None:
    now_ns, coordination = driver.now_ns(), driver.node.coordination
    if driver.first_mark_ns is not None:
        return (now_ns - driver.first_mark_ns) / 1e9
    writing = None if coordination is None else coordination.membership.primacy.file.writing
    return None if writing is None else (now_ns - writing.since_ns) / 1e9


def slow_disks(driver: Driver) -> list[str]:
    """A sentence for each disk that keeps a view waiting."""
    return [*_own(driver), *_others(driver.node)]


def _own(driver: Driver) -> list[str]:
    marks = mark_file_of(driver)
    if marks is None or (marks["writing_seconds"] or 0.0) < SLOW_SECONDS:
        return []
    lately = f" (lately it took {marks['recent_seconds']:.2f} s)" if marks["recent_seconds"] else ""
    return [
        f"the disk of {marks['path']} has been storing this member's mark for {marks['writing_seconds']:.1f} s{lately}"
    ]


def _others(node: Node) -> list[str]:
    leading = None if node.coordination is None else node.coordination.membership.as_coordinator
    change = None if leading is None else leading.change
    if change is None or change.spreading is not None:
        return []
    storing = {member: ns / 1e9 for member, ns in change.roll_call.storing.items() if member != node.me}
    return [
        f"the mark file of {member} takes {seconds:.1f} s, and the next view waits for it"
        for member, seconds in storing.items()
        if seconds >= SLOW_SECONDS
    ]
