"""G10, merge repeats nothing: own entry never overwritten; a higher or equal local one kept; else reset to the digest.

How far each window had come is in G5's facts, which begin anew at each view and each offset.
Comparison, per member in the order of its recording: at an OFFSET of a MergeView the window was somebody else's, who
comes from another subgroup, above what was there, and set to the digest; and when the installation is over (the first
message, the next view, or the end of a whole recording) who comes from another subgroup is nowhere below the digest.
Complete: every way in which a merge can touch a window is one of these.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ringcast.model import Kind
from ringcast.pipeline.rules import g05_agreed_cut
from ringcast.pipeline.rules.fact import Fact, Out, name_of
from ringcast.pipeline.rules.piece import Piece
from ringcast.pipeline.rules.run import Control, Installed, Member, Run

GUARANTEE = "G10"


def kernel(piece: Piece, out: Out) -> None:
    """The first message taken in each stretch: it ends an installation too."""
    taken = piece.where(Kind.TAKEN)
    taken = taken[piece.stream[taken] == 0]
    for place in taken[np.unique(piece.stretch[taken], return_index=True)[1]].tolist():
        out.fact("taken", index=piece.index(place))


@dataclass(slots=True)
class _Windows:
    member: Member
    ready: dict[str, int] = field(default_factory=dict)
    resets: list[tuple[Control, int]] = field(default_factory=list)  # with how far the window had come; -1: none
    installing: Installed | None = None


def compare(run: Run, out: Out) -> None:
    offsets = run.control_by_member(Kind.OFFSET)
    moves = {what: run.by_member(g05_agreed_cut.GUARANTEE, what) for what in ("sent", "delivered")}
    taken = run.by_member(GUARANTEE, "taken")
    for member in run:
        if not any(stay.view is not None and stay.view.subgroups for stay in member.stays):
            continue
        events: list[tuple[int, int, object]] = [(row.index, 0, row) for row in offsets.get(member.key, [])]
        events += [(stay.start, 1, stay.view) for stay in member.stays if stay.view is not None]
        for by_member in (*moves.values(), taken):
            events += [(fact.index, 2, fact) for fact in by_member.get(member.key, [])]
        _judge(run, member, sorted(events, key=lambda event: event[:2]), out)


def _judge(run: Run, member: Member, events: list[tuple[int, int, object]], out: Out) -> None:
    windows = _Windows(member)
    for _, _, what in events:
        if isinstance(what, Control):
            windows.resets.append((what, windows.ready.get(what.peer, -1)))
            windows.ready[what.peer] = what.value
            continue
        _settle(windows, out)
        if isinstance(what, Installed):
            windows.installing = what
        elif isinstance(what, Fact) and what.what == "delivered":
            windows.ready[what.peer] = max(windows.ready.get(what.peer, 0), what.last)
    if run.is_whole(member.key):
        _settle(windows, out)


def _settle(windows: _Windows, out: Out) -> None:
    view, windows.installing = windows.installing, None
    if view is None:
        return
    mine = [reset for reset in windows.resets if reset[0].view == view.id]
    windows.resets = [reset for reset in windows.resets if reset[0].view != view.id]
    if not view.subgroups:
        return
    member = windows.member
    mates = view.mates_of(member.key)
    for row, before in mine:
        did = _misdeed(member, view, mates, row, before)
        if did is not None:
            out.violation(row.index, f"{member} {did} ({name_of(row.peer)})", row.peer, member.key)
    for peer in view.members:
        if peer == member.key or peer in mates:
            continue
        out.examined(1)
        entry, ready = view.digest.get(peer), windows.ready.get(peer, 0)
        if entry is not None and ready < entry[1]:
            sentence = f"{member} stayed at {ready} for {name_of(peer)}, though the digest of the MergeView"
            out.violation(view.index, f"{sentence} {view.id[0]} says {entry[1]}", peer, member.key)


def _misdeed(member: Member, view: Installed, mates: tuple[str, ...], row: Control, before: int) -> str | None:
    entry = view.digest.get(row.peer)
    if row.peer == member.key:
        return f"overwrote its own entry with {row.value} in a merge"
    if before >= row.value:
        return f"had received up to {before} and reset its window to {row.value} in a merge"
    if before >= 0 and row.peer in mates:
        return "reset the window of a member it was never apart from"
    if entry is not None and entry[1] != row.value:
        return f"reset its window to {row.value}, not to the digest"
    return None
