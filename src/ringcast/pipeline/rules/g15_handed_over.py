"""G15, handed over once: what acks report was given to the application's code, exactly once and in order.

A line is one stream of one sender, or the one order. What becomes ready on it (DELIVER, DEQUEUE) must be *passed* in
the same order: handed over (HANDED) or dropped (UNREAD, or TAKEN that says 1: nothing for the application).

Kernel, per stream: where both only move forward, a few numbers say all (`steady`): the maximal runs that became ready
and that passed, how far something must have been ready before the segment (`first`), up to where nothing may wait at
its beginning because it counts as taken (`last`), and up to where it must be in the spool (`value`). Anything else, and
the time of a joiner's spool, is given step by step (`steps`). Of the one order: digests of both sequences
(`sequence.py`), their lengths, and by how much what passed ran ahead at most (`sequence`). A segment that says nothing
of what was handed over, though messages count as taken, leaves its lines `silent`: read again if it is said elsewhere.
Comparison: walks each line from segment to segment. Of a stream what passed must be what waited first; every moment
is right because both only moved forward and nothing passed before it was ready. Of the one order both sequences must be
equal at the end. Where that does not show a line to be right, all of it is read again, step by step (`handing.py`), and
only that accuses. So nothing right is accused, and what is wrong is missed only where two sequences have one digest.
The one order of a member that crashed or was cut off with something unread is always read again.
What is dropped (unless it is part of a state) is dropped at the end: the first such UNREAD of a recording (`unread`)
stands behind its last HANDED (`given`).

Judged per member. Unjudged where a recording has none of these events, unless another one of the same version has. Of
a member that crashed, or whose recording is cut, nothing is asked that it may still have done.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from ringcast.checkers import run_text
from ringcast.model import STREAMS_PER_EPOCH, Kind
from ringcast.pipeline.rules import sequence
from ringcast.pipeline.rules.digest import salts_of
from ringcast.pipeline.rules.fact import Fact, Out, Wanted, name_of
from ringcast.pipeline.rules.handing import (
    DROPPED,
    HANDED,
    READY,
    SPOOLED,
    SPOOLED_TO_SOME,
    TAKEN,
    VOID,
    VOID_ALL,
    Line,
    Step,
)
from ringcast.pipeline.rules.packed import pack, pack_columns, unpack, unpack_columns
from ringcast.pipeline.rules.piece import Array, Piece, groups
from ringcast.pipeline.rules.run import NEVER, Run

GUARANTEE = "G15"
IN_THE_STATE = "state"  # what an UNREAD tells of messages that are part of a state which is loaded
PRIVATE = 1  # the channel of private messages in a stream's number
ORDERED = -1  # in the place of a stream's number
SAYS = (Kind.HANDED, Kind.UNREAD, Kind.SPOOLED)
AGAIN, STEPS, STEADY, SEQUENCE, SILENT = "again", "steps", "steady", "sequence", "silent"
Key = tuple[str, str, int]  # member, sender, stream
_WHAT: Array = np.full(256, READY, dtype=np.int64)
_WHAT[[Kind.HANDED, Kind.UNREAD, Kind.SPOOLED, Kind.TAKEN]] = HANDED, DROPPED, SPOOLED, TAKEN
_IS_TOLD: Array = np.isin(np.arange(256), [int(kind) for kind in SAYS])


class _Events:
    """The events of a segment that matter, as columns: what, line, run."""

    def __init__(self, piece: Piece) -> None:
        at = piece.where(Kind.DELIVER, Kind.DEQUEUE, Kind.TAKEN, *SAYS)
        kind, is_set, stream, peer = piece.kind[at], piece.value[at] != 0, piece.stream[at], piece.peer[at]
        is_told, what = _IS_TOLD[kind], _WHAT[kind]
        what[(what == TAKEN) & is_set] = DROPPED
        what[(what == SPOOLED) & is_set & (piece.other[at] != 0)] = SPOOLED_TO_SOME
        counts = is_told | (stream == 0)
        if not counts.all():
            counts |= stream % STREAMS_PER_EPOCH == PRIVATE
        dequeued = kind == Kind.DEQUEUE
        stream[dequeued | (is_told & is_set)] = ORDERED
        counts &= ~dequeued | (piece.view[at] >= 0)  # on a bus, to dequeue is to be given
        named = peer >= 0
        is_void = (kind == Kind.UNREAD) & ~named
        self.voids: Array = at[is_void]
        told = [piece.detail_of(place).get("told") for place in self.voids.tolist()]
        self.whole_voids: Array = self.voids[np.array([words != IN_THE_STATE for words in told], dtype=bool)]
        self.nameless = int((counts & ~is_void & ~named).sum())
        kept = counts & named
        if not kept.all():
            at, what, stream, peer = at[kept], what[kept], stream[kept], peer[kept]
        self.at, self.what, self.stream, self.peer = at, what, stream, peer
        self.peer[stream == ORDERED] = -1

    def lines(self) -> Iterator[tuple[int, Array, Array]]:
        """Each line: its stream, the places of its events, what they are."""
        for group in groups(self.stream, self.peer):
            stream, at, what = int(self.stream[group[0]]), self.at[group], self.what[group]
            voids = self.voids_of(stream)
            if len(voids):
                at, what = np.append(at, voids), np.append(what, self.codes_of(voids))
                order = np.argsort(at, kind="stable")
                at, what = at[order], what[order]
            yield stream, at, what

    def voids_of(self, stream: int) -> Array:
        """Where what this stream has in the spool is thrown away. No state has what came to this member alone."""
        return self.whole_voids if stream > 0 else self.voids

    def codes_of(self, voids: Array) -> Array:
        codes: Array = np.where(np.isin(voids, self.whole_voids), VOID_ALL, VOID)
        return codes


def kernel(piece: Piece, out: Out) -> None:
    unread, handed = piece.where(Kind.UNREAD), piece.where(Kind.HANDED)
    out.examined(int(piece.count[handed].sum()))
    for name, places in (("unread", _given_up(piece, unread)[:1]), ("given", handed[-1:])):
        for place in places.tolist():
            out.fact(name, index=piece.index(place), peer=piece.keys[int(piece.peer[place])])
    for place in unread.tolist():
        if not piece.detail_of(place).get("told"):
            who = name_of(piece.member)
            sentence = f"{who} dropped what its application had not read, without an error that says so"
            out.violation(piece.index(place), sentence)
    events = _Events(piece)
    if events.nameless:
        out.lacks(f"{events.nameless} events of {name_of(piece.member)} lack a sender")
    says = len(piece.where(*SAYS)) > 0
    is_taken = bool((events.what == TAKEN).any())
    first_taken = piece.index(events.at[(events.what == TAKEN).argmax()]) if is_taken else -1
    out.fact("member", index=first_taken, value=int(says), other=int(is_taken), text=piece.header.recording.version)
    if is_taken and not says:
        for stream, at, _ in events.lines():
            out.fact(SILENT, index=piece.index(at[0]), peer=_sender(piece, stream, at), stream=stream)
        return
    whole = set(events.whole_voids.tolist())
    for place in events.voids.tolist():
        out.fact("void", index=piece.index(place), value=int(place in whole))
    for stream, at, what in events.lines():
        is_joining = len(events.voids) > 0 or bool(np.isin(what, (SPOOLED, SPOOLED_TO_SOME)).any())
        if is_joining or not (_sequence if stream == ORDERED else _steady)(piece, stream, at, what, out):
            _steps(piece, STEPS, stream, at, what, out)


def _given_up(piece: Piece, unread: Array) -> Array:
    """Where something was dropped that is in no state."""
    for_good = [int(piece.peer[at]) >= 0 and piece.detail_of(at).get("told") != IN_THE_STATE for at in unread.tolist()]
    places: Array = unread[np.array(for_good, dtype=bool)]
    return places


def _sender(piece: Piece, stream: int, at: Array) -> str:
    if stream == ORDERED:
        return ""
    peers = piece.peer[at]
    return piece.keys[int(peers[peers >= 0][0])]


def _steps(piece: Piece, name: str, stream: int, at: Array, what: Array, out: Out) -> None:
    senders = "\n".join(piece.keys) if stream == ORDERED else ""
    data = pack_columns(what, piece.first[at], piece.last[at], at + piece.first_index, piece.peer[at])
    sender = _sender(piece, stream, at)
    out.fact(name, index=piece.index(at[0]), peer=sender, stream=stream, text=senders, data=data)


def _steady(piece: Piece, stream: int, at: Array, what: Array, out: Out) -> bool:
    first, last = piece.first[at], piece.last[at]
    is_ready, is_passed, is_taken = what == READY, (what == HANDED) | (what == DROPPED), what == TAKEN
    needs = is_passed | is_taken  # what must be ready
    if not (_grows(first[is_ready], last[is_ready]) and _grows(first[is_passed], last[is_passed])):
        return False
    ready = np.maximum.accumulate(np.where(is_ready, last, 0))  # 0: not in this segment
    passed = np.maximum.accumulate(np.where(is_passed, last, 0))
    first_ready = int(first[is_ready][0]) if is_ready.any() else NEVER
    waits = is_taken & (passed == 0)
    if (needs & (ready > 0) & (last > ready)).any() or (waits & (ready > 0) & (last >= first_ready)).any():
        return False
    runs = [_maximal(first[mask], last[mask]) for mask in (is_ready, is_passed)]
    out.fact(
        STEADY,
        index=piece.index(at[0]),
        peer=_sender(piece, stream, at),
        stream=stream,
        count=len(runs[0]),
        first=int(last[needs & (ready == 0)].max(initial=0)),
        last=int(last[waits].max(initial=0)),
        value=int(last[is_taken & (passed > 0) & (last > passed)].max(initial=0)),
        data=pack([*runs[0], *runs[1]]),
    )
    return True


def _grows(first: Array, last: Array) -> bool:
    return bool((first[1:] > last[:-1]).all() and (last >= first).all())


def _maximal(first: Array, last: Array) -> list[int]:
    """Begin and end of each maximal run, one behind the other."""
    if not len(first):
        return []
    breaks = np.flatnonzero(first[1:] != last[:-1] + 1)
    pairs = np.stack([first[np.append(0, breaks + 1)], last[np.append(breaks, len(last) - 1)]], axis=1)
    found: list[int] = pairs.ravel().tolist()
    return found


def _sequence(piece: Piece, stream: int, at: Array, what: Array, out: Out) -> bool:
    first, last, is_ready = piece.first[at], piece.last[at], what == READY
    if not (last >= first).all():
        return False
    salts, sender = salts_of(piece.keys), piece.peer[at]
    moved = np.cumsum(np.where(is_ready, -1, 1) * piece.count[at])
    low, high = sequence.digest_of(salts, sender[is_ready], first[is_ready], last[is_ready])
    passed = sequence.digest_of(salts, sender[~is_ready], first[~is_ready], last[~is_ready])
    out.fact(
        SEQUENCE,
        index=piece.index(at[0]),
        stream=stream,
        count=int(piece.count[at[is_ready]].sum()),
        value=int(piece.count[at[~is_ready]].sum()),
        other=int(moved[~is_ready].max(initial=0)),
        low=sequence.signed(low),
        high=sequence.signed(high),
        data=pack([sequence.signed(half) for half in passed]),
    )
    return True


def compare(run: Run, out: Out) -> None:
    members = run.of(GUARANTEE, "member")
    says = {fact.member for fact in members if fact.value}
    speaking = {fact.text for fact in members if fact.value}
    silent: dict[str, Fact] = {}
    for fact in members:
        if fact.other and fact.member not in says:
            silent.setdefault(fact.member, fact)
    for member, fact in silent.items():
        if fact.text in speaking:
            sentence = f"{name_of(member)} counts messages as taken and says of none that its application was given it"
            out.violation(fact.index, sentence, member=member)
        else:
            out.lacks(f"the recording of {name_of(member)} does not say what its application was given")
    given = {fact.member: fact for fact in run.of(GUARANTEE, "given")}  # the last of each member
    for member, unread in run.by_member(GUARANTEE, "unread").items():
        after = given.get(member)
        if after is not None and after.index > unread[0].index:
            sentence = f"{name_of(member)} handed messages of {name_of(after.peer)} to its application"
            out.violation(after.index, f"{sentence} after it had dropped others for good", after.peer, member)
    lines: defaultdict[Key, dict[int, Fact]] = defaultdict(dict)
    for what in (STEPS, STEADY, SEQUENCE, SILENT):
        for fact in run.of(GUARANTEE, what):
            if fact.member in says:
                lines[fact.member, fact.peer, fact.stream][fact.segment] = fact
    voids = run.by_member(GUARANTEE, "void")
    for key, facts in lines.items():
        member, sender, stream = key
        for void in voids.get(member, []):
            if void.value or stream <= 0:
                facts.setdefault(void.segment, void)
        parts = [facts[number] for number in sorted(facts)]
        is_right = _order_is_right if stream == ORDERED else _stream_is_right
        if any(part.what == SILENT for part in parts) or not is_right(sender, parts, _is_asked(run, member)):
            out.want([Wanted(GUARANTEE, member, 0, NEVER, stream, stream, sender)])


def _is_asked(run: Run, member: str) -> bool:
    """Is it asked for what it left?"""
    return run.is_whole(member) and run.members_by_key[member].how != "crashed"


class _Quiet(Line):
    """A line whose faults are only noticed."""

    def __init__(self, is_ordered: bool) -> None:
        self.is_right = True
        super().__init__(is_ordered, self._notice)

    def _notice(self, step: Step, why: str) -> None:
        self.is_right = False


def _read(fact: Fact) -> Iterator[Step]:
    if fact.what == "void":
        yield Step(VOID_ALL if fact.value else VOID, 0, 0, fact.index, "")
        return
    senders = fact.text.split("\n")
    for what, first, last, index, peer in zip(*(c.tolist() for c in unpack_columns(fact.data, 5)), strict=True):
        yield Step(what, first, last, index, senders[peer] if fact.text else fact.peer)


def _stream_is_right(sender: str, parts: Sequence[Fact], is_asked: bool) -> bool:
    line, ready = _Quiet(is_ordered=False), 0
    for fact in parts:
        if fact.what != STEADY:
            steps = list(_read(fact))
            line.go(steps)
            ready = max([ready, *(step.last for step in steps if step.what == READY)])
        else:
            waits = line.waiting[0].first if line.waiting else NEVER
            spooled = line.spooled.get(sender, 0)
            numbers = unpack(fact.data)
            runs = [Step(0, first, last, 0, sender) for first, last in zip(numbers[::2], numbers[1::2], strict=True)]
            became, passed = runs[: fact.count // 2], runs[fact.count // 2 :]
            late = (fact.last >= waits and fact.last > spooled) or fact.value > spooled
            if late or fact.first > ready or (became and became[0].first <= ready):
                return False
            line.go(became)
            line.go(step._replace(what=HANDED) for step in passed)
            ready = max([ready, *(step.last for step in became)])
        if not line.is_right:
            return False
    return not (is_asked and line.waiting)


def _order_is_right(sender: str, parts: Sequence[Fact], is_asked: bool) -> bool:
    line, at = _Quiet(is_ordered=True), 0
    while at < len(parts) and parts[at].what != SEQUENCE:
        line.go(_read(parts[at]))
        at += 1
    if not line.is_right:
        return False
    left = line.waiting
    salts = salts_of(run.sender for run in left)
    ends = (np.array([getattr(run, name) for run in left], dtype=np.int64) for name in ("first", "last"))
    became, passed = sequence.digest_of(salts, np.arange(len(left)), *ends), sequence.NOTHING
    ready, gone = sum(run.last - run.first + 1 for run in left), 0
    for fact in parts[at:]:
        if fact.what != SEQUENCE or fact.other > ready - gone:
            return False
        low, high = unpack(fact.data)
        became = sequence.joined(became, ready, (fact.low, fact.high))
        passed = sequence.joined(passed, gone, (low, high))
        ready, gone = ready + fact.count, gone + fact.value
    if not gone:
        return not (is_asked and ready)
    return ready == gone and became == passed


def read_again(piece: Piece, wanted: Iterable[Wanted], out: Out) -> None:
    lines = {(want.what, want.first) for want in wanted}
    events = _Events(piece)
    seen = set()
    for stream, at, what in events.lines():
        key = (_sender(piece, stream, at), stream)
        if key in lines:
            seen.add(key)
            _steps(piece, AGAIN, stream, at, what, out)
    for sender, stream in lines - seen:
        voids = events.voids_of(stream)
        for place, code in zip(voids.tolist(), events.codes_of(voids).tolist(), strict=True):
            columns = (np.array([number]) for number in (code, 0, 0, piece.index(place), -1))
            out.fact(AGAIN, index=piece.index(place), peer=sender, stream=stream, data=pack_columns(*columns))


def compare_again(run: Run, out: Out) -> None:
    lines: defaultdict[Key, list[Fact]] = defaultdict(list)
    for fact in run.of(GUARANTEE, AGAIN):
        lines[fact.member, fact.peer, fact.stream].append(fact)
    for (member, _, stream), facts in lines.items():
        _accuse(run, member, stream == ORDERED, facts, out)


def _accuse(run: Run, member: str, is_ordered: bool, facts: Sequence[Fact], out: Out) -> None:
    who = name_of(member)

    def blame(step: Step, why: str) -> None:
        messages = f"{run_text(step.first, step.last - step.first + 1)} of {name_of(step.sender)}"
        kind = "ordered messages" if is_ordered else "messages"
        if step.what == HANDED:
            sentence = f"{who} handed {kind} {messages} to its application, {why}"
        else:
            sentence = f"{who} counts {messages} as taken, which its application was not given"
        out.violation(step.place, sentence, step.sender, member)

    line = Line(is_ordered, blame)
    for fact in facts:
        line.go(_read(fact))
    if _is_asked(run, member):
        for left in line.waiting:
            messages = f"{run_text(left.first, left.last - left.first + 1)} of {name_of(left.sender)}"
            sentence = f"{who} neither handed over nor reported as unread what it delivered: {messages}"
            out.violation(left.place, sentence, left.sender, member)
