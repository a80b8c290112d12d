"""Rows: whom each member does not hear, as it said itself; passed on, so that who does not hear a member knows its row.

A member with anything to say sends its own row and the newest of each other's once per interval, to whom it sends
heartbeats; at once if any row says something new. A row has a version, and a later one replaces it. What a member says
of itself goes before what others pass on for it: a row that is passed on counts only while its owner is not heard here.
A row from which something was taken back is said for a while; where all hear each other no rows are said. Rows that
name only links to outsiders are repeated seldom: what changes in them is said at once.

Bounded: one row per member of the view, and one datagram per interval; rows that do not fit take turns.
Not here: what follows from the rows (detector.py), and who has to go (largest_set.py).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ringcast.core.control import Row, Unheard
from ringcast.core.deadlines import Timer
from ringcast.model import Address, View

MOST_APART = 8  # of one row
SELDOM = 4  # thirds of the time for which rows count, from one that names only links to outsiders to the next
ROW_BYTES = 16  # of one row without its members, encoded
RANK_BYTES = 3
OVERHEAD_BYTES = 320  # of the frame, and of the view that it names


class Words(NamedTuple):
    """The words of one member: whom it does not hear, wants to watch, knows to be gone, and is apart from."""

    unheard: tuple[Address, ...] = ()
    wanted: tuple[Address, ...] = ()
    gone: tuple[Address, ...] = ()
    apart: tuple[Address, ...] = ()

    @property
    def are_news(self) -> bool:
        """Is it worth saying? Who is gone is said only beside something else."""
        return bool(self.unheard or self.wanted or self.apart)


NOTHING = Words()


class Known(NamedTuple):
    """The newest row of another member."""

    version: int
    words: Words
    at_ns: int
    is_direct: bool


class Said(NamedTuple):
    """A row that is news here: whose it is, and what it said before."""

    owner: Address
    words: Words
    before: Words


class Rows:
    """This member's row and those of the others."""

    def __init__(self, me: Address, interval_ns: int, keep_ns: int, frame_bytes: int, timer: Timer) -> None:
        self.me = me
        self.timer = timer  # when rows are said next; None: there is nothing to say
        self.known: dict[Address, Known] = {}
        self.own = NOTHING
        self._interval_ns = interval_ns
        self._keep_ns = keep_ns
        self._budget = max(ROW_BYTES, frame_bytes - OVERHEAD_BYTES)
        self._version = 0
        self._view: View | None = None
        self._said_ns: int | None = None
        self._until_ns = 0  # so long an empty row is said, because something was taken back
        self._turn = 0

    def on_view(self, view: View) -> None:
        self._view = view
        self.known = {
            member: known._replace(words=_within(known.words, view))
            for member, known in self.known.items()
            if member in view
        }

    def wake(self, now_ns: int) -> None:
        """Something new is to be said: soon, but not for each of several changes."""
        due_ns = now_ns if self._said_ns is None else max(now_ns, self._said_ns + self._interval_ns // 5)
        if self.timer.at_ns is None or self.timer.at_ns > due_ns:
            self.timer.at_ns = due_ns

    def take_back(self, now_ns: int) -> None:
        """Say for a while that something said before is no longer true, even if there is nothing else to say."""
        self._until_ns = now_ns + self._keep_ns
        self.wake(now_ns)

    def on_said(
        self, now_ns: int, sender: Address, message: Unheard, is_heard: Callable[[Address], bool]
    ) -> list[Said]:
        """Note the rows that this member had not seen."""
        view = self._view
        if view is None or message.view != view.id:
            return []
        news: list[Said] = []
        is_changed = False
        for row in message.rows:
            if not row.member < len(view.members):
                continue
            owner = view.members[row.member]
            is_direct = owner == sender
            before = self.known.get(owner)
            if owner == self.me or (not is_direct and is_heard(owner)):
                continue
            if before is not None and row.version <= before.version and (before.is_direct or not is_direct):
                continue
            words = _words(row, view)
            self.known[owner] = Known(row.version, words, now_ns, is_direct)
            said_before = NOTHING if before is None else before.words
            news.append(Said(owner, words, said_before))
            is_changed |= words != said_before
        if is_changed:
            self.wake(now_ns)
        elif news and self.timer.at_ns is None:
            self.timer.at_ns = now_ns + self._interval_ns
        return news

    def fresh(self, now_ns: int) -> dict[Address, Words]:
        """Return what members said lately."""
        return {owner: row.words for owner, row in self.known.items() if now_ns - row.at_ns < self._keep_ns}

    def say(self, now_ns: int, own: Words) -> Unheard | None:
        """Return the message to send now, if it is time and there is anything to say."""
        if not self.timer.is_due(now_ns):
            return None
        view = self._view
        self.own = own
        others = self.fresh(now_ns)
        has_words = own.are_news or now_ns < self._until_ns or any(words.are_news for words in others.values())
        if view is None or self.me not in view or not has_words:
            self.timer.at_ns = None
            return None
        is_urgent = now_ns < self._until_ns or any(words.unheard or words.wanted for words in (own, *others.values()))
        pace_ns = self._interval_ns if is_urgent else SELDOM * self._keep_ns // 3
        self.timer.at_ns, self._said_ns = now_ns + pace_ns, now_ns
        self._version += 1
        rows = [_row(self._version, self.me, own, view, self._budget)]
        left = self._budget - _size(rows[0])
        owners = [owner for owner in others if owner in view]
        for place in range(len(owners)):
            owner = owners[(self._turn + place) % len(owners)]
            row = _row(self.known[owner].version, owner, others[owner], view, self._budget)
            left -= _size(row)
            if left < 0:
                self._turn += place
                break
            rows.append(row)
        return Unheard(view.id, tuple(rows))


def _within(words: Words, view: View) -> Words:
    """Return what was said, as far as it speaks of this view."""

    def members(named: tuple[Address, ...]) -> tuple[Address, ...]:
        return tuple(member for member in named if member in view)

    apart = tuple(member for member in words.apart if member not in view)
    return Words(members(words.unheard), members(words.wanted), members(words.gone), apart)


def _words(row: Row, view: View) -> Words:
    """Return what a row says, as far as it speaks of this view."""

    def members(ranks: tuple[int, ...]) -> tuple[Address, ...]:
        known = (rank for rank in dict.fromkeys(ranks) if rank < len(view.members) and rank != row.member)
        return tuple(view.members[rank] for rank in known)

    apart = tuple(member for member in row.apart[:MOST_APART] if member not in view)
    return Words(members(row.unheard), members(row.wanted), members(row.gone), apart)


def _row(version: int, owner: Address, words: Words, view: View, budget: int) -> Row:
    """Return a row for the wire; what does not fit is left out."""
    most = max(0, (budget - ROW_BYTES) // RANK_BYTES)
    unheard = tuple(view.rank(m) for m in words.unheard)[:most]
    wanted = tuple(view.rank(m) for m in words.wanted)[: most - len(unheard)]
    gone = tuple(view.rank(m) for m in words.gone)[: most - len(unheard) - len(wanted)]
    row = Row(view.rank(owner), version, unheard, wanted, gone)
    apart: list[Address] = []
    for member in words.apart[:MOST_APART]:
        if _size(row._replace(apart=(*apart, member))) > budget:
            break
        apart.append(member)
    return row._replace(apart=tuple(apart))


def _size(row: Row) -> int:
    """An upper bound of its bytes."""
    addresses = sum(20 + len(m.name.encode()) + len(m.endpoint.encode()) for m in row.apart)
    return ROW_BYTES + RANK_BYTES * (len(row.unheard) + len(row.wanted) + len(row.gone)) + addresses
