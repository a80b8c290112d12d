"""G8, no hearsay: in a merge each member's digest entry comes from that member itself.

No kernel of its own. Each DIGEST event of a merge names whose entry it is and who said it: they must be equal. And the
entry is true: a member sends nothing between its answer and the view, so what the MergeView says of its stream equals
how far it had sent when it installed that view, by its own recording (G3's facts `sent`, which end with each view).
"""

from __future__ import annotations

from bisect import bisect_left

from ringcast.model import Kind
from ringcast.pipeline.rules import g03_purged
from ringcast.pipeline.rules.fact import Out, key_of, name_of
from ringcast.pipeline.rules.run import Run
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
    for member in run:
        facts = [fact for fact in sent.get(member.key, []) if not fact.stream]
        starts = [fact.index for fact in facts]
        for view in (stay.view for stay in member.stays if stay.view is not None and stay.view.subgroups):
            entry = view.digest.get(member.key)
            high = max((fact.last for fact in facts[: bisect_left(starts, view.index)]), default=0)
            if entry is not None and entry[1] != high:
                sentence = f"the MergeView {view.id[0]} says {entry[1]} for {member}, which had sent up to {high}"
                out.violation(view.index, sentence, member=member.key)
