"""Does another side's view prove that the primary side went on without us? Then this side gives up its place (G17).

Not the way back: whoever gives up its place comes as a new incarnation (runtime/rejoin.py).
"""

from __future__ import annotations

from collections.abc import Iterable

from ringcast.model import Address, Electorate, Mark, View


def primary_elsewhere(
    me: Address, mine: View, others: Iterable[View], *, is_led: bool = True
) -> tuple[View, Electorate] | None:
    """The other side's view that proves that the primary side went on without us, and the primary view it proves.

    None: we keep our place. It is given up only on proof of a later primary view without us: the other side is in it,
    or some of it were and know that it came about. A primary view that we were in ourselves, or an older one, is no
    such proof: who still is in it was cut off or paused, and did not notice yet.
    `is_led`: somebody of our view can make the next one. Observers alone cannot: theirs says for ever that it is
    primary, and counts as one that is not.
    """
    if mine.mark is None:
        return None
    known, is_primary = mine.mark, mine.is_primary and is_led
    proofs = [
        (view, view.mark.last)
        for view in others
        if view.mark is not None and me not in view and _is_proof(me, known, is_primary, view, view.mark)
    ]
    return max(proofs, key=lambda proof: (proof[0].is_primary, proof[1].view), default=None)


def _is_proof(me: Address, known: Mark, is_primary: bool, view: View, theirs: Mark) -> bool:
    last = theirs.last
    if last.expect or known.votes_of([me])[0] in last.voters:
        return False  # Nothing came about yet; or it was to be ours too, and never reached us.
    if view.is_primary and not is_primary and _is_other_chain(known, theirs):
        return True
    if last.view < known.last.view:
        return False
    is_spoken_for = view.is_primary or any(vote in last.voters for vote in theirs.votes_of(view.voters))
    return is_spoken_for and (view.is_primary or not is_primary)


def _is_other_chain(known: Mark, theirs: Mark) -> bool:
    """With a fixed quorum processes that forgot everything may begin a chain anew; then its numbers say nothing."""
    return bool(known.quorum) and theirs.root != known.root
