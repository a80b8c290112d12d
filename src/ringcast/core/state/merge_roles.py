"""Who makes one state of many after a MergeView, and who gives the state of each side: pure functions.

The merger is the first member that may coordinate and has a state; a side's giver the first of it. Who joined with
state and has not loaded it has none: `get_state` would give what no member of its side holds. If merger or giver is
gone before anybody has the merged state, all still stand directly behind the MergeView: the next view names others, and
they begin anew at the same cut. A side of which nobody with a state is left has taken its state with it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from ringcast.core.control import Reunion, Side, Standing
from ringcast.model import Address, View, ViewId


def reunion_of(view: View, stateless: tuple[Address, ...] = ()) -> Reunion | None:
    """That of a MergeView; None if there is nobody to do it."""
    return _named(view.id, view.id, view.subgroups, view.members, view.observers, stateless)


def still_apart(reunion: Reunion, staying: Sequence[Address], standings: Mapping[Address, Standing]) -> Reunion | None:
    """This reunion as it stands after a roll call; None if everybody has the merged state."""
    lacking = tuple(m for m in staying if m in standings and standings[m].lacks and m in reunion.lacking)
    return reunion._replace(lacking=lacking) if lacking else None


def reunion_after(
    reunion: Reunion, view: ViewId, staying: Sequence[Address], observers: Collection[Address]
) -> Reunion | None:
    """Nobody has the merged state yet: the same if all who work on it go on, else others, named by this view."""
    if reunion.merger in staying and all(side.giver in staying for side in reunion.sides):
        return reunion
    subgroups = [side.members for side in reunion.sides]
    lacking = [member for member in staying if member in reunion.lacking]
    return _named(reunion.cut, view, subgroups, lacking, observers, reunion.stateless)


def _named(
    cut: ViewId,
    view: ViewId,
    subgroups: Collection[tuple[Address, ...]],
    members: Sequence[Address],
    observers: Collection[Address],
    stateless: tuple[Address, ...],
) -> Reunion | None:
    able = [member for member in members if member not in observers and member not in stateless]
    sides = [Side(giver, side) for side in subgroups if (giver := next((m for m in side if m in able), None))]
    return Reunion(cut, view, able[0], tuple(sides), tuple(members), stateless) if sides else None
