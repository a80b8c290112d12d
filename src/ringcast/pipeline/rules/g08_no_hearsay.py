"""G8, no hearsay: in a merge each member's digest entry comes from that member itself.

No kernel of its own. Each DIGEST event of a merge names whose entry it is and who said it: they must be equal. And the
entry is true: a member sends nothing between its answer and the view, so what the MergeView says of its stream, at
whomever it is installed, equals how far it had sent when it installed that view itself, by its own recording (G3's
facts `sent`, which end with each view).
"""

from __future__ import annotations

from bisect import bisect_left
from itertools import accumulate

from ringcast.model import Kind
from ringcast.pipeline.rules import g03_purged
from ringcast.pipeline.rules.fact import Out, key_of, name_of
from ringcast.pipeline.rules.run import Run, View
from ringcast.trace import as_address

GUARANTEE = "G8"


def compare(run: Run, out: Out) -> None:
    for row in run.control(Kind.DIGEST):
        merge_id, about = row.detail.get("merge_id"), row.detail.get("about")
        if merge_id is None or about == "going-away":
            continue
        origin = row.detail.get("origin")
        if origin is None or not row.peer:
            out.lacks("who said a digest entry")
            continue
        out.examined(1)
        said = key_of(as_address(origin))
        if said != row.peer:
            sentence = f"in merge {merge_id} {name_of(row.member)} took the entry of {name_of(row.peer)} from"
            out.violation(row.index, f"{sentence} {name_of(said)}", row.peer, row.member)
    _untrue(run, out)


def _untrue(run: Run, out: Out) -> None:
    sent = run.by_member(g03_purged.GUARANTEE, "sent")
    had_sent: dict[tuple[View, str], int] = {}
    merges = [(m, stay.view) for m in run for stay in m.stays if stay.view is not None and stay.view.subgroups]
    reached: dict[str, tuple[list[int], list[int]]] = {}  # places, and how far it had sent from there on
    for member in run:
        facts = [fact for fact in sent.get(member.key, []) if not fact.stream]
        reached[member.key] = [fact.index for fact in facts], [0, *accumulate((fact.last for fact in facts), max)]
    for member, view in merges:
        places, highs = reached[member.key]
        had_sent.setdefault((view.id, member.key), highs[bisect_left(places, view.index)])
    for member, view in merges:
        for key, entry in view.digest.items():
            high = had_sent.get((view.id, key))
            if high is not None and entry[1] != high:
                what = f"the MergeView {view.id[0]} says {entry[1]} for {name_of(key)} at {member}"
                peer = "" if key == member.key else key
                out.violation(view.index, f"{what}, and that had sent up to {high}", peer, member.key)
