"""Whether another side that was found proves that the primary side went on without us.

A place is given up only on proof of a later primary view without us: the other side is in it, or knows that it came
about. A primary view that is not later than what we know is no such proof: its members were cut off or paused, and did
not notice yet. A pure function of the real views.
"""

from __future__ import annotations

from collections.abc import Iterable

from ringcast.model import Address, Electorate, Mark, View


def primary_elsewhere(me: Address, mine: View, others: Iterable[View]) -> tuple[View, Electorate] | None:
    """The other side's view that proves it, and the primary view it proves; None if we keep our place."""
    if mine.mark is None:
        return None
    proofs = [
        (view, view.mark.last)
        for view in others
        if view.mark is not None and me not in view and _is_proof(me, mine, mine.mark, view, view.mark)
    ]
    return max(proofs, key=lambda proof: (proof[0].is_primary, proof[1].view), default=None)


def _is_proof(me: Address, mine: View, known: Mark, view: View, theirs: Mark) -> bool:
    if known.votes_of([me])[0] in theirs.last.voters:
        return False  # It was to be ours too, and never reached us.
    if view.is_primary and _is_other_chain(mine, known, theirs):
        return True
    is_later = theirs.last.view > known.last.view and not theirs.last.expect
    return is_later and (view.is_primary or not mine.is_primary)


def _is_other_chain(mine: View, known: Mark, theirs: Mark) -> bool:
    """With a fixed quorum processes that forgot everything may begin a chain anew; then its numbers say nothing."""
    return bool(known.quorum) and not mine.is_primary and theirs.root != known.root
