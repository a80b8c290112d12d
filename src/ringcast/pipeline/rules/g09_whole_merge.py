"""G9, merge is whole: a MergeView has a digest entry for each of its members; overlapping entries take the maximum.

No kernel of its own: merges are few. Whole: no member of a MergeView is without an entry in its digest. Maximum: the
join of entries is the maximum of each figure, so at the merge leader each entry of the view equals the maxima of what
entered its consolidation, and none is there that nobody gave; another coordinator knows only a part, so there it is at
least those.
"""

from __future__ import annotations

from ringcast.model import Kind
from ringcast.pipeline.rules.fact import Out, name_of
from ringcast.pipeline.rules.run import Control, Installed, Member, Run

GUARANTEE = "G9"
Entry = tuple[int, int, int]


def compare(run: Run, out: Out) -> None:
    steps = run.control_by_member(Kind.MERGE, Kind.DIGEST)
    for member in run:
        rows = steps.get(member.key, [])
        for view in (stay.view for stay in member.stays if stay.view is not None and stay.view.subgroups):
            out.examined(1)
            missing = [who for who in view.members if who not in view.digest]
            if missing:
                names = ", ".join(map(name_of, missing))
                sentence = f"{member} installed the MergeView {view.id[0]} without a digest entry of {names}"
                out.violation(view.index, sentence, member=member.key)
            if view.merge_id is not None:
                _compare(member, view, [row for row in rows if _is_about(row, view)], out)


def _is_about(row: Control, view: Installed) -> bool:
    return row.index < view.index and str(row.detail.get("merge_id")) == view.merge_id


def _compare(member: Member, view: Installed, rows: list[Control], out: Out) -> None:
    is_leader = any(row.kind == Kind.MERGE and row.detail.get("step") == "start" for row in rows)
    most: dict[str, Entry] = {}
    for row in rows:
        if row.kind == Kind.DIGEST and row.detail.get("about") != "going-away":
            low, delivered, received = most.get(row.peer, (0, 0, 0))
            most[row.peer] = (max(low, row.first), max(delivered, row.value), max(received, row.other))
    for who in view.members if is_leader else ():
        if who in view.digest and who not in most:
            sentence = f"the MergeView {view.id[0]} has an entry of {name_of(who)} that never reached {member}"
            out.violation(view.index, sentence, who, member.key)
    for who, top in most.items():
        entry = view.digest.get(who)
        if entry is None or who not in view.members:
            continue
        is_below = any(figure < known for figure, known in zip(entry, top, strict=True))
        if is_below or (is_leader and tuple(entry) != top):
            sentence = f"the MergeView {view.id[0]} has {entry[1]} for {name_of(who)}, the maximum said was {top[1]}"
            out.violation(view.index, sentence, who, member.key)
