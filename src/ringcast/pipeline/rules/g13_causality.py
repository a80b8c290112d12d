"""G13, causality: dequeued-before-queued and finished-before-started are respected, also through side channels.

Judged company by company on the seqs that G12 shows to be the order. A message's seq must be above that of everything
that was dequeued, or whose queueing was finished, before its own queueing started: at the same member by the place in
its recording, at others by time, between members on one clock. "Everything before" is a running maximum. A real member
stamps an event with the begin of its turn; it had happened by the next later stamp and counts only from then on.

Facts of bounded size. Of what a member knew only the steps of the running maximum by time matter, of what it started
only the smallest seq at each time: `known` and `started`, one row of three or four numbers for each distinct stamp, and
if a segment has more than STEPS of them, one for each GRAIN of them, from its first stamp to its last. Such a row is
weighed twice: as if all of it had happened at its first stamp (nothing that could be wrong is missed), and at its
last (what is wrong even then is a violation). What lies between is read again with every stamp. Place at the same
member: the kernel compares inside the segment, the comparison with the maximum of the segments before it.
Between views the view number decides: nobody began to queue in a view when somebody who went on with it had a place in
the next. Members on different clocks are not compared by time, but by messages (`g13_by_messages.py`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from ringcast.model import Kind
from ringcast.pipeline.rules.fact import Fact, Out, Wanted, name_of
from ringcast.pipeline.rules.g12_one_order import where
from ringcast.pipeline.rules.packed import pack_columns, unpack_columns
from ringcast.pipeline.rules.piece import Array, Piece, groups
from ringcast.pipeline.rules.run import NEVER, Run, Stay
from ringcast.trace import SIMULATED_CLOCK

GUARANTEE = "G13"
STEPS = 1 << 14  # rows of a part that are kept one by one
GRAIN = 16
WINDOWS = 32  # ranges of time to be read again in one company; more are read as one
ALL_TIME = (-(1 << 62), 1 << 62)


def kernel(piece: Piece, out: Out) -> None:
    order = piece.where(Kind.QUEUE_START, Kind.QUEUE_FINISH, Kind.DEQUEUE)
    for group in groups(piece.stay[order]):
        _part(piece, order[group], STEPS, ALL_TIME, out)


def read_again(piece: Piece, wanted: Iterable[Wanted], out: Out) -> None:
    """Every stamp of these stays between two moments."""
    order = piece.where(Kind.QUEUE_START, Kind.QUEUE_FINISH, Kind.DEQUEUE)
    index = order + piece.first_index
    for want in wanted:
        if want.what:  # for g13_by_messages.py
            continue
        at = order[(index >= want.first_index) & (index < want.end_index)]
        if len(at):
            again = Out(GUARANTEE, piece.member, piece.number)
            _part(piece, at, len(at), (want.first, want.last), again)
            for fact in again.rows:
                if fact.what in ("known", "started"):
                    fact.what, fact.low, fact.high = f"{fact.what} again", want.first, want.last
                    out.rows.append(fact)


def _part(piece: Piece, at: Array, steps: int, window: tuple[int, int], out: Out) -> None:
    """One stay in this segment."""
    kind, seq = piece.kind[at], piece.value[at]
    knows = np.flatnonzero(kind != Kind.QUEUE_START)
    running = np.maximum.accumulate(np.where(kind == Kind.QUEUE_START, -1, seq))
    _known(piece, at, knows, running, steps, window, out)
    starts, finishes = np.flatnonzero(kind == Kind.QUEUE_START), np.flatnonzero(kind == Kind.QUEUE_FINISH)
    numbers = piece.first[at]
    by_number = finishes[np.argsort(numbers[finishes], kind="stable")]
    place = np.searchsorted(numbers[by_number], numbers[starts])
    is_done = place < len(by_number)
    is_done[is_done] = numbers[by_number[place[is_done]]] == numbers[starts[is_done]]
    done, seqs = starts[is_done], seq[by_number[place[is_done]]]
    late = np.flatnonzero(running[done] >= seqs)
    if len(late):
        i = int(done[late[0]])
        out.fact(
            "late", index=piece.index(at[i]), first=int(numbers[i]), value=int(seqs[late[0]]), other=int(running[i])
        )
    _started(piece, at, done, seqs, steps, window, out)
    for i in starts[~is_done].tolist():
        facts = {"first": int(numbers[i]), "value": int(piece.t_ns[at[i]]), "other": int(running[i])}
        out.fact("begun", index=piece.index(at[i]), **facts)
    is_loose = ~np.isin(numbers[finishes], numbers[starts])
    for i in finishes[is_loose].tolist():
        out.fact("finished", index=piece.index(at[i]), first=int(numbers[i]), value=int(seq[i]))


def _known(
    piece: Piece, at: Array, knows: Array, running: Array, steps: int, window: tuple[int, int], out: Out
) -> None:
    """When which seq was known, at the latest."""
    if not len(knows):
        return
    stamps = np.maximum.accumulate(piece.t_ns[at[knows]])
    ends = np.flatnonzero(np.r_[np.diff(stamps) != 0, True])  # the last event of each stamp
    times, highest = stamps[ends], running[knows[ends]]
    tail, first, second = -1, int(times[0]), int(times[1]) if len(times) > 1 else NEVER
    last = int(times[-1])
    if not _is_exact(piece, int(at[0])):
        tail, times, highest = int(highest[-1]), times[1:], highest[:-1]
    columns = _coarse(times, times, highest, steps, window)
    out.fact(
        "known",
        index=piece.index(at[knows[0]]),
        first=first,
        last=last,
        value=int(running[-1]),
        other=tail,
        count=second,
        data=pack_columns(*columns),
    )


def _is_exact(piece: Piece, place: int) -> bool:
    """In a simulated world, and on a bus (no view), stamps are exact."""
    return piece.header.clock == SIMULATED_CLOCK or int(piece.view[place]) < 0


def _coarse(
    first: Array, last: Array, highest: Array, steps: int, window: tuple[int, int]
) -> tuple[Array, Array, Array]:
    """Rows (first stamp, last stamp, seq known then), at most `steps` one by one; of a window, what it needs."""
    if window != ALL_TIME:
        begin, end = int(np.searchsorted(first, window[0])), int(np.searchsorted(first, window[1], side="right"))
        begin = max(0, begin - 1)  # the last step before the window stands for all before it
        first, last, highest = first[begin:end], last[begin:end], highest[begin:end]
    if len(first) <= steps:
        return first, last, highest
    heads = np.arange(0, len(first), GRAIN)
    tails = np.minimum(heads + GRAIN, len(first)) - 1
    return first[heads], last[tails], highest[tails]


def _started(piece: Piece, at: Array, done: Array, seqs: Array, steps: int, window: tuple[int, int], out: Out) -> None:
    """The smallest seq that was started at each stamp, with the place of that start."""
    if not len(done):
        return
    times = piece.t_ns[at[done]]
    inside = (times >= window[0]) & (times <= window[1])
    done, seqs, times = done[inside], seqs[inside], times[inside]
    order = np.lexsort((seqs, times))
    heads = np.flatnonzero(np.r_[True, np.diff(times[order]) != 0]) if len(order) else order
    least, when = order[heads], times[order[heads]]
    smallest, places = seqs[least], at[done[least]] + piece.first_index
    first = last = when
    if len(when) > steps:
        heads = np.arange(0, len(when), GRAIN)
        chosen = [int(h + smallest[h : h + GRAIN].argmin()) for h in heads.tolist()]
        first, last = when[heads], when[np.minimum(heads + GRAIN, len(when)) - 1]
        smallest, places = smallest[chosen], places[chosen]
    out.fact(
        "started",
        index=piece.index(at[0]),
        count=len(done),
        data=pack_columns(first, last, smallest, places) if len(first) else b"",
    )


@dataclass(slots=True)
class _Side:
    """What one member of a company knew and started; `latest` is when and where it last began to queue."""

    stay: Stay
    known: list[Array] = field(default_factory=list)  # first stamp, last stamp, seq
    started: list[Array] = field(default_factory=list)  # first stamp, last stamp, smallest seq, index
    examined: int = 0
    highest: int = -1
    earliest: int = NEVER  # when it first had a place in this view
    latest: tuple[int, int] = (-NEVER, -1)
    tail: tuple[int, int] | None = None  # a stamp whose next later one is still to come, and the seq known then

    def add_known(self, fact: Fact) -> None:
        if self.tail is not None:
            later = fact.first if fact.first > self.tail[0] else fact.count
            if later < NEVER:
                self._know(np.array([[later], [later], [self.tail[1]]]))
                self.tail = None
        if fact.data:
            self._know(np.stack(unpack_columns(fact.data, 3)))
        if fact.other >= 0:
            self.tail = (fact.last, max(fact.other, self.tail[1] if self.tail else -1))
        self.highest = max(self.highest, fact.value)

    def _know(self, rows: Array) -> None:
        self.known.append(rows)
        self.earliest = min(self.earliest, int(rows[0, 0]))

    def add_start(self, t_ns: int, seq: int, index: int) -> None:
        self.started.append(np.array([[t_ns], [t_ns], [seq], [index]]))
        self.examined += 1


Sides = dict[tuple[str, int], _Side]


def compare(run: Run, out: Out) -> None:
    sides = _sides(run, out)
    for stays in run.companies.values():
        mine = [sides[stay.member, stay.start] for stay in stays if (stay.member, stay.start) in sides]
        out.examined(sum(side.examined for side in mine))
        for comparable in _by_clock(run, mine):
            for first, last in _by_time(comparable, out):
                out.want(
                    Wanted(GUARANTEE, side.stay.member, side.stay.start, side.stay.end, first, last)
                    for side in comparable
                )
    _between(run, sides, out)


def compare_again(run: Run, out: Out) -> None:
    found: defaultdict[tuple[object, int, int], Sides] = defaultdict(dict)
    for what in ("known again", "started again"):
        for fact in run.of(GUARANTEE, what):
            stay = run.members_by_key[fact.member].stay_at(fact.index)
            sides = found[stay.company, fact.low, fact.high]
            side = sides.setdefault((fact.member, stay.start), _Side(stay))
            if what == "known again":
                side.add_known(fact)
            elif fact.data:
                side.started.append(np.stack(unpack_columns(fact.data, 4)))
    for sides in found.values():
        for comparable in _by_clock(run, list(sides.values())):
            _by_time(comparable, out)


def _by_clock(run: Run, sides: list[_Side]) -> list[list[_Side]]:
    found: defaultdict[str, list[_Side]] = defaultdict(list)
    for side in sides:
        found[run.members_by_key[side.stay.member].clock].append(side)
    return list(found.values())


def _sides(run: Run, out: Out) -> Sides:
    """Facts of all segments, put together; places at the same member are compared on the way."""
    sides: Sides = {}
    begun: dict[tuple[str, int, int], Fact] = {}
    facts = [fact for what in ("late", "begun", "known", "started", "finished") for fact in run.of(GUARANTEE, what)]
    # What the member knew by the end of a segment comes last: nothing in this segment is judged by it.
    turn = {"late": 0, "started": 1, "begun": 2, "finished": 3, "known": 4}
    for fact in sorted(facts, key=lambda f: (f.member, f.segment, turn[f.what], f.index)):
        stay = run.members_by_key[fact.member].stay_at(fact.index)
        side = sides.setdefault((fact.member, stay.start), _Side(stay))
        if fact.what == "known":
            side.add_known(fact)
        elif fact.what == "begun":
            begun[fact.member, stay.start, fact.first] = fact
            fact.other = max(fact.other, side.highest if fact.segment else -1)
            side.latest = max(side.latest, (fact.value, fact.index))
        elif fact.what == "started":
            side.examined += fact.count
            rows = np.stack(unpack_columns(fact.data, 4))
            side.started.append(rows)
            side.latest = max(side.latest, (int(rows[1].max()), int(rows[3, int(rows[1].argmax())])))
            i = int(rows[2].argmin())
            if rows[2, i] <= side.highest and stay.company is not None:
                _blame(side, int(rows[3, i]), int(rows[2, i]), side, side.highest, out)
        elif fact.what == "late" and stay.company is not None:
            _blame(side, fact.index, fact.value, side, fact.other, out)
        elif fact.what == "finished":
            start = begun.pop((fact.member, stay.start, fact.first), None)
            if start is not None:
                side.add_start(start.value, fact.value, start.index)
                if start.other >= fact.value and stay.company is not None:
                    _blame(side, start.index, fact.value, side, start.other, out)
    return sides


def _blame(side: _Side, index: int, seq: int, other: _Side, before: int, out: Out) -> None:
    who, whom = name_of(side.stay.member), name_of(other.stay.member)
    what = f"{who} began to queue when {whom} already had the message with seq {before}, yet it got seq {seq}"
    peer = "" if other is side else other.stay.member
    out.violation(index, f"{where(side.stay)} {what}", peer, side.stay.member)


def _by_time(sides: list[_Side], out: Out) -> list[tuple[int, int]]:
    """Starts whose seq is not above what somebody knew before; ranges of time in which the facts do not decide."""
    known = [(side, rows) for side in sides for rows in side.known]
    if not known or not any(side.started for side in sides):
        return []
    firsts, lasts, seqs = (np.concatenate([rows[i] for _, rows in known]) for i in range(3))
    surest = soonest = _Marks(firsts, seqs)
    if not np.array_equal(firsts, lasts):
        surest = _Marks(lasts, seqs)
    begins = np.cumsum([rows.shape[1] for _, rows in known])
    doubts: list[tuple[int, int]] = []
    for side in sides:
        if not side.started:
            continue
        first, last, seq, index = np.concatenate(side.started, axis=1)
        possible = soonest.before(last) >= seq
        is_exact = first == last
        sure = possible & is_exact & (surest.before(first) >= seq)
        for i in np.flatnonzero(sure)[:1].tolist():  # follow-ups appear: the first is told
            before, place = surest.at(int(first[i]))
            whose = known[int(np.searchsorted(begins, place, side="right"))][0]
            _blame(side, int(index[i]), int(seq[i]), whose, before, out)
        unsure = np.flatnonzero(possible & ~sure)
        doubts += list(zip(first[unsure].tolist(), last[unsure].tolist(), strict=True))
    return _joined(doubts)


class _Marks:
    """The highest seq that anybody knew before a moment."""

    def __init__(self, times: Array, seqs: Array) -> None:
        self._order = np.argsort(times, kind="stable")
        self._times, self._seqs = times[self._order], seqs[self._order]
        self._highest = np.r_[-1, np.maximum.accumulate(self._seqs)]

    def before(self, moments: Array) -> Array:
        found: Array = self._highest[np.searchsorted(self._times, moments, side="left")]
        return found

    def at(self, moment: int) -> tuple[int, int]:
        """That seq, and the place at which it was given."""
        end = int(np.searchsorted(self._times, moment, side="left"))
        i = int(self._seqs[:end].argmax())
        return int(self._seqs[i]), int(self._order[i])


def _joined(windows: list[tuple[int, int]]) -> list[tuple[int, int]]:
    joined: list[tuple[int, int]] = []
    for first, last in sorted(windows):
        if joined and first <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(joined[-1][1], last))
        else:
            joined.append((first, last))
    return joined if len(joined) <= WINDOWS else [(joined[0][0], joined[-1][1])]


def _between(run: Run, sides: Sides, out: Out) -> None:
    """Nobody began to queue in a view when somebody who went on with it had a place in the next.

    A place counts if whoever had it went on from there or ended there in good order.
    """
    places: dict[tuple[object, str], Stay] = {}  # the first stay of each member in each view, if it counts
    for stays in run.companies.values():
        for stay in stays:
            if stay.view is not None and (stay.member, stay.start) in sides:
                places.setdefault((stay.view.id, stay.member), stay)
    for stays in run.companies.values():
        if stays[0].next is None:
            continue
        for stay in stays:
            side = sides.get((stay.member, stay.start))
            if side is None or side.latest[1] < 0:
                continue
            clock = run.members_by_key[stay.member].clock
            for other in stays:
                after = places.get((stay.next, other.member))
                if after is None or run.members_by_key[other.member].clock != clock:
                    continue
                if side.latest[0] > sides[other.member, after.start].earliest:
                    who, whom = name_of(stay.member), name_of(other.member)
                    sentence = f"{who} began to queue {where(stay)} when {whom} already had a place {where(after)}"
                    out.violation(side.latest[1], sentence, other.member, stay.member)
                    break
