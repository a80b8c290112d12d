"""G16, all destinations: a TOTAL message that one destination dequeued is dequeued by all that go on together.

Kernel and facts are those of the one order (`order_facts.py`). For each block of the order a sender's digests say what
it queued to each member of a company, a receiver's what it got: equal means that it got exactly that. Where they
differ, the block is read again: what the members dequeued (`messages`) and what the sender began to queue (`batches`),
and compared message by message. Judged for members that go together to a next view. A sender whose recording is cut
may have queued what it did not record. What was multicast is judged by G5, what is private by `g16_private_messages`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable

from ringcast.model import Kind
from ringcast.pipeline.rules import g12_one_order
from ringcast.pipeline.rules.fact import Fact, Out, Wanted, name_of
from ringcast.pipeline.rules.g12_one_order import where
from ringcast.pipeline.rules.order_facts import BLOCK, destinations
from ringcast.pipeline.rules.ordered import InBlock, Ordered, Sum
from ringcast.pipeline.rules.packed import unpack_columns
from ringcast.pipeline.rules.piece import Piece
from ringcast.pipeline.rules.run import NEVER, Run, Stay

GUARANTEE = "G16"
BATCHES = "batches"
_NOTHING = Sum()


def compare(run: Run, out: Out) -> None:
    ordered = run.shared(Ordered)
    for stays in run.companies.values():
        if stays[0].next is None:
            continue
        parts = [part for part in ordered.blocks(stays) if part.got]
        for sender in dict.fromkeys(part.sender for part in parts if part.sender not in run.members_by_key):
            out.lacks(f"there is no recording of {name_of(sender)}")
        known = [part for part in parts if part.sender in run.members_by_key]
        doubtful = dict.fromkeys(part.block for part in known if not _is_complete(part, stays))
        for part in known:
            if part.block not in doubtful:
                out.examined(sum(got.count for who, got in part.got.items() if _is_asked(run, part.sender, who)))
        for block in doubtful:
            first, last = block * BLOCK, (block + 1) * BLOCK - 1
            out.want(ordered.wanted(GUARANTEE, stay, first, last) for stay in stays)
            senders = [part for part in known if part.block == block]
            out.want(Wanted(GUARANTEE, part.sender, 0, NEVER, part.first, part.last, BATCHES) for part in senders)


def _is_asked(run: Run, sender: str, receiver: str) -> bool:
    """Without self-delivery only a sender that names itself has its own copy, which `view` does not tell."""
    return receiver != sender or bool(run.members_by_key[sender].config.get("self_delivery", True))


def _is_complete(part: InBlock, stays: list[Stay]) -> bool:
    return part.is_known and all(
        part.got.get(stay.member, _NOTHING).digest == part.queued.get(stay.member, _NOTHING).digest for stay in stays
    )


def read_again(piece: Piece, wanted: Iterable[Wanted], out: Out) -> None:
    wanted = list(wanted)
    g12_one_order.read_again(piece, [want for want in wanted if want.what != BATCHES], out)
    starts = piece.where(Kind.QUEUE_START)
    for want in wanted:
        if want.what == BATCHES:
            inside = (piece.last[starts] >= want.first) & (piece.first[starts] <= want.last)
            for place in starts[inside].tolist():
                ends = {"first": int(piece.first[place]), "last": int(piece.last[place])}
                out.fact(BATCHES, index=piece.index(place), text=destinations(piece, place), **ends)


class _Queued:
    """To whom each sender queued what."""

    def __init__(self, run: Run) -> None:
        self._batches: defaultdict[str, dict[int, Fact]] = defaultdict(dict)
        for fact in run.of(GUARANTEE, BATCHES):
            self._batches[fact.member].setdefault(fact.first, fact)
        self._firsts = {member: sorted(batches) for member, batches in self._batches.items()}
        # How far each sender is known to have queued; what lies beyond in a cut recording is unknown.
        self.upto = {fact.member: fact.last for fact in run.of("G11", "queued")}

    def to(self, sender: str, number: int) -> str | None:
        firsts = self._firsts.get(sender, [])
        at = bisect_right(firsts, number) - 1
        if at < 0:
            return None
        batch = self._batches[sender][firsts[at]]
        return batch.text if number <= batch.last else None


def compare_again(run: Run, out: Out) -> None:
    queued, ordered = _Queued(run), run.shared(Ordered)
    found: defaultdict[tuple[object, int], dict[tuple[str, int], dict[str, int]]] = defaultdict(dict)
    for fact in run.of(GUARANTEE, "messages"):
        stay = run.members_by_key[fact.member].stay_at(fact.index)
        for message, index in _messages(fact):
            found[stay.company, fact.first].setdefault(message, {})[fact.member] = index
    for (company, _), messages in found.items():
        stays = run.companies[company]  # type: ignore[index]
        for message, holders in messages.items():
            _judge(run, ordered, queued, stays, message, holders, out)


def _messages(fact: Fact) -> Iterable[tuple[tuple[str, int], int]]:
    senders = fact.text.split("\n")
    columns = (column.tolist() for column in unpack_columns(fact.data, 5))
    for index, peer, first, count, _ in zip(*columns, strict=True):
        for number in range(first, first + count):
            yield (senders[peer], number), index


def _judge(
    run: Run,
    ordered: Ordered,
    queued: _Queued,
    stays: list[Stay],
    message: tuple[str, int],
    holders: dict[str, int],
    out: Out,
) -> None:
    sender, number = message
    if sender not in run.members_by_key:
        return
    to = queued.to(sender, number)
    what = f"{name_of(sender)}'s {number} {where(stays[0])}"
    if to is None:
        if run.is_whole(sender) or number <= queued.upto.get(sender, 0):
            for member, index in holders.items():
                sentence = f"{name_of(member)} dequeued {what}, which {name_of(sender)} did not queue"
                out.violation(index, sentence, sender, member)
        return
    if to == "?":
        out.lacks(f"to whom {name_of(sender)} queued")
        return
    meant = ordered.receivers(sender, to, stays)
    other, index = next(iter(holders.items()))
    for stay in stays:
        member = stay.member
        if not _is_asked(run, sender, member):
            continue
        if member in meant:
            out.examined(1)
            if member not in holders:
                sentence = f"{name_of(other)} dequeued {what}, {name_of(member)} never did and went on with it"
                out.violation(index, sentence, member, other)
        elif member in holders:
            sentence = f"{name_of(member)} dequeued {what}, which was not queued to it"
            out.violation(holders[member], sentence, sender, member)
