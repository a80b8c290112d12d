"""Mistakes in who may go on after a partition (G17), and where observers count."""

from __future__ import annotations

from ringcast.sim.planted.planting import Planted
from ringcast.sim.policies import Policy

_MARKS = Policy(partition="primary", has_marks=True)

PRIMARY = (
    Planted(
        "half of the voters go on, whoever they are",
        "G17",
        "ringcast.model.majority:Electorate.is_carried_by",
        "self.voters[0] in votes",
        "True",
        seeds=20,
        kinds=("split", "isolate"),
        policy=_MARKS,
    ),
    Planted(
        "the mark of primary views is not read from its file",
        "G17",
        "ringcast.runtime.joining:_mark",
        "if place.marks is not None and place.marks.known is not None:",
        "if False:",
        seeds=20,
        kinds=("crash", "split"),
        policy=_MARKS,
    ),
    Planted(
        "observers vote for a primary view",
        "views",
        "ringcast.model.view:View.voters",
        "if member not in self.observers",
        "if True",
        seeds=10,
        kinds=("split", "isolate"),
        policy=Policy(observers=2, partition="primary", quorum=2),
    ),
    Planted(
        "observers are waited for as voters",
        "liveness",
        "ringcast.model.majority:Electorate.is_carried_by",
        "self.expect - observers",
        "self.expect",
        seeds=10,
        policy=Policy(observers=3, partition="primary", has_marks=True),
    ),
    Planted(
        "any primary view proves that the others went on",
        "liveness",
        "ringcast.core.merge.elsewhere:_is_proof",
        "if last.expect or known.votes_of([me])[0] in last.voters:",
        "if last.expect:",
        seeds=25,
        kinds=("freeze", "split", "crash"),
        policy=_MARKS,
    ),
    Planted(
        "each side of a merge keeps its own mark of primary views",
        "G4",
        "ringcast.core.membership.view_change:ViewChange.compose_merged",
        "view.mark,",
        "complete.mark and complete.mark.of_view(view.members),",
        seeds=20,
        kinds=("split", "isolate"),
        policy=_MARKS,
    ),
)
