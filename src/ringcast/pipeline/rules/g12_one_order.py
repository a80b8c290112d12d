"""G12, atomic queueing: one order of TOTAL messages for all who receive them, acyclic over all.

Judged company by company (members that go on together, or ended in good order; all peers of a bus). If 1. at each
member the seqs of what it dequeues grow, and 2. a message has the same seq at everybody, then each member's order is
a part of the order by seq: all agree, and there is no cycle. (1) is compared in the kernel, and at the borders of
segments from the ends of parts. (2) is compared by digests over (sender, number, seq), per block of the order: those of
a receiver must equal what the sender says it queued to it, or those of all receivers must be equal. A seq that travels
with the message proves nothing by itself; it is the member's own order (1) that is compared with it.
Where (1) or (2) fails, the seqs do not decide: these blocks are read again, message by message, and the graph of
consecutive dequeues is searched for a cycle. There is one iff no single order fits. So is a message read twice.
Blocks do not overlap in the order, so unless seqs fall (then all blocks between are read) a cycle lies within one.
Memory: a few numbers per block, sender and member; when read again, the messages of at most SPAN blocks at a time.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from ringcast.model import Kind
from ringcast.pipeline.rules import order_facts
from ringcast.pipeline.rules.cycles import cycle_in
from ringcast.pipeline.rules.fact import Fact, Out, Wanted, name_of
from ringcast.pipeline.rules.order_facts import BLOCK
from ringcast.pipeline.rules.ordered import InBlock, Ordered, Sum
from ringcast.pipeline.rules.packed import pack_columns, unpack, unpack_columns
from ringcast.pipeline.rules.piece import Piece
from ringcast.pipeline.rules.run import Run, Stay

GUARANTEE = order_facts.RULE
SPAN = 8
kernel = order_facts.kernel


def compare(run: Run, out: Out) -> None:
    ordered = run.shared(Ordered)
    parts: defaultdict[tuple[str, int], list[Fact]] = defaultdict(list)
    for fact in run.of(GUARANTEE, "part"):
        parts[fact.member, run.members_by_key[fact.member].stay_at(fact.index).start].append(fact)
    for stays in run.companies.values():
        mine = [parts.get((stay.member, stay.start), []) for stay in stays]
        if not any(mine):
            continue
        out.examined(sum(fact.count for facts in mine for fact in facts))
        stretches = [stretch for facts in mine for stretch in _falling(facts)]
        stretches += [(part.block, part.block) for part in ordered.blocks(stays) if not is_one_order(part)]
        for first, last in spans(stretches):
            out.want(ordered.wanted(GUARANTEE, stay, first * BLOCK, (last + 1) * BLOCK - 1) for stay in stays)


def _falling(parts: list[Fact]) -> Iterable[tuple[int, int]]:
    """From which block to which the seqs of one member fall, inside a segment or from one to the next."""
    before: tuple[int, str, int] | None = None
    for fact in parts:
        first_seq, first_number, last_seq, last_number, *falls = unpack(fact.data)
        first_sender, last_sender = fact.text.split("\n")
        pairs = list(zip(falls[::2], falls[1::2], strict=True))
        if before is not None:
            goes_on = before == (first_seq, first_sender, first_number - 1)
            if first_seq <= before[0] and not goes_on:
                pairs.append((first_seq, before[0]))
        yield from ((low // BLOCK, high // BLOCK) for low, high in pairs)
        before = (last_seq, last_sender, last_number)


def is_one_order(part: InBlock) -> bool:
    """Do the digests prove that all who got this sender's messages of this block have them with the same seqs?"""
    if part.is_known and all(part.queued.get(who, _NOTHING).digest == got.digest for who, got in part.got.items()):
        return True
    return len({got.digest for got in part.got.values()}) <= 1


_NOTHING = Sum()


def spans(stretches: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """These blocks as stretches to be read together: a message may have moved from one to another."""
    found: list[tuple[int, int]] = []
    for first, last in sorted(stretches):
        if found and first <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(found[-1][1], last))
        else:
            found.append((first, last))
    return [(found[0][0], found[-1][1])] if found and found[-1][1] - found[0][0] < SPAN else found


def read_again(piece: Piece, wanted: Iterable[Wanted], out: Out) -> None:
    """The dequeued batches of these ranges, one by one, in the member's own order."""
    dequeued = piece.where(Kind.DEQUEUE)
    index = dequeued + piece.first_index
    for want in wanted:
        inside = (index >= want.first_index) & (index < want.end_index)
        at = dequeued[inside & (piece.value[dequeued] >= want.first) & (piece.value[dequeued] <= want.last)]
        if len(at):
            columns = (at + piece.first_index, piece.peer[at], piece.first[at], piece.count[at], piece.value[at])
            data, senders = pack_columns(*columns), "\n".join(piece.keys[:-1])
            out.fact("messages", index=piece.index(at[0]), first=want.first, last=want.last, text=senders, data=data)


def compare_again(run: Run, out: Out) -> None:
    found: defaultdict[tuple[object, int], dict[Stay_, list[Fact]]] = defaultdict(dict)
    for fact in run.of(GUARANTEE, "messages"):
        stay = run.members_by_key[fact.member].stay_at(fact.index)
        if stay.company is not None:
            found[stay.company, fact.first].setdefault((fact.member, stay.start), []).append(fact)
    for by_stay in found.values():
        _search(run, by_stay, out)


Stay_ = tuple[str, int]
Message = tuple[str, int]


def _search(run: Run, by_stay: dict[Stay_, list[Fact]], out: Out) -> None:
    numbers: dict[Message, int] = {}
    sequences: dict[int, list[int]] = {}
    places: list[tuple[Stay, list[int]]] = []
    for (member, start), facts in by_stay.items():
        ids, indexes = _singles(facts, numbers)
        stay = run.members_by_key[member].stay_at(start)
        ids, indexes = _once(stay, ids, indexes, list(numbers), out)
        sequences[len(places)] = ids
        places.append((stay, indexes))
    circle = cycle_in(sequences)
    if circle is None:
        return
    names = list(numbers)
    first, second, at, other = circle
    stay, indexes = places[at]
    index = indexes[sequences[at].index(second)]
    pair = f"{_text(names[second])} after {_text(names[first])}"
    who, whom = name_of(stay.member), name_of(places[other][0].member)
    sentence = f"{where(stay)} {who} dequeued {pair}, but with {whom} and others there is a circle"
    theirs = sequences[other]
    if other != at and first in theirs and second in theirs and theirs.index(second) < theirs.index(first):
        sentence = f"{where(stay)} {who} dequeued {pair}, {whom} the other way round"
    out.violation(index, sentence, places[other][0].member, stay.member)


def where(stay: Stay) -> str:
    return "on the bus" if stay.view is None else f"in view {stay.view.id[0]}"


def _text(message: Message) -> str:
    return f"{name_of(message[0])}'s {message[1]}"


def _singles(facts: list[Fact], numbers: dict[Message, int]) -> tuple[list[int], list[int]]:
    ids: list[int] = []
    indexes: list[int] = []
    for fact in facts:
        senders = fact.text.split("\n")
        index, peer, first, count, _ = unpack_columns(fact.data, 5)
        for at, who, begin, length in zip(index.tolist(), peer.tolist(), first.tolist(), count.tolist(), strict=True):
            for number in range(begin, begin + length):
                ids.append(numbers.setdefault((senders[who], number), len(numbers)))
                indexes.append(at)
    return ids, indexes


def _once(
    stay: Stay, ids: list[int], indexes: list[int], names: list[Message], out: Out
) -> tuple[list[int], list[int]]:
    """Each destination gets one instance: what comes again is told and left out."""
    seen: dict[int, int] = {}
    for ident, index in zip(ids, indexes, strict=True):
        if ident in seen:
            out.violation(
                index, f"{name_of(stay.member)} dequeued {_text(names[ident])} twice {where(stay)}", member=stay.member
            )
        else:
            seen[ident] = index
    return list(seen), list(seen.values())
