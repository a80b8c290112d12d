"""The facts of one run, put together: members, their control events, their stays in views, and who went together.

Built from the facts of all segments of a run and group. A member's recording counts up to its first hole: facts of
segments behind a missing or damaged one are left out here, so no rule has to think of it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from operator import attrgetter
from typing import Any, TypeVar

from ringcast.checkers import Clocks
from ringcast.model import Address, Kind, ViewId
from ringcast.pipeline.rules.control import values_in
from ringcast.pipeline.rules.fact import Fact, address_of, key_of
from ringcast.trace import SIMULATED_CLOCK, as_address, as_view_id, detail_of, is_harness

NEVER = 1 << 62
T = TypeVar("T")
View = tuple[int, str]  # number, creator


@dataclass(slots=True)
class Control:
    """One control event."""

    member: str
    index: int
    t_ns: int
    kind: int
    view: View | None
    peer: str
    stream: int
    first: int
    count: int
    value: int
    other: int
    detail: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Installed:
    """A view as one member installed it."""

    id: View
    index: int
    t_ns: int
    previous: View | None
    members: tuple[str, ...]
    subgroups: tuple[tuple[str, ...], ...]
    digest: Mapping[str, tuple[int, int, int]]
    capacity: int
    window_bytes: int
    merge_id: str | None
    observers: tuple[str, ...]
    content: str  # what must be equal wherever this id is installed

    def mates_of(self, member: str) -> tuple[str, ...]:
        return next((group for group in self.subgroups if member in group), ())


@dataclass(slots=True)
class Stay:
    """A member's time in one view: events from `start` up to, not including, `end`; `next` = where it went.

    `company` is equal for those who went together: the two views, or the end in good order; None for a member that
    crashed, left or was cut off here. Without a view it is a bus, where everybody is in one company.
    """

    member: str
    view: Installed | None
    start: int
    end: int = NEVER
    next: View | None = None
    company: tuple[Any, ...] | None = None


@dataclass(slots=True)
class Member:
    key: str
    address: Address
    group: str
    clock: str
    config: Mapping[str, Any]
    events: int = 0
    dropped: int = 0
    closed: bool = False
    first_ns: int = 0
    last_ns: int = 0
    ran_ns: int = 0  # of the last event but the end
    how: str = ""
    damage: str = ""
    stays: list[Stay] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)  # where each stay starts

    @property
    def is_whole(self) -> bool:
        return self.closed and not self.dropped

    @property
    def went_on_ns(self) -> int:
        """The last moment at which it ran. That of a crash is not one: it may have been stopped since long before."""
        return self.ran_ns if self.how == "crashed" else self.last_ns

    @property
    def has_views(self) -> bool:
        return len(self.stays) > 1

    @property
    def bus(self) -> str:
        """The bus of a peer; two buses are two companies."""
        return self.address.endpoint if self.address.endpoint.startswith("bus:") else ""

    @property
    def is_harness(self) -> bool:
        return is_harness(self.address)

    @property
    def has_exact_stamps(self) -> bool:
        """Simulated members and peers of a bus stamp an event when it happens; others with the begin of their turn."""
        return self.clock == SIMULATED_CLOCK or not any(stay.view for stay in self.stays)

    def stay_at(self, index: int) -> Stay:
        return self.stays[max(0, bisect_right(self.starts, index) - 1)]

    def __str__(self) -> str:
        return str(self.address)


class Run:
    """Everything that comparisons look at."""

    def __init__(self, facts: Iterable[Fact]) -> None:
        facts = list(facts)
        members = _members([fact for fact in facts if not fact.rule and fact.what == "segment"])
        self._kept = {(key, number) for key, (_, numbers) in members.items() for number in numbers}
        self.members_by_key = {key: member for key, (member, _) in members.items()}
        self.facts: list[Fact] = []
        self._by_name: defaultdict[tuple[str, str], list[Fact]] = defaultdict(list)
        self._unsorted: set[tuple[str, str]] = set()
        self._shared: dict[Any, Any] = {}
        self.add(facts)
        self._control: defaultdict[int, list[Control]] = defaultdict(list)
        self.malformed: list[str] = []
        for fact in sorted(self.of("", "control"), key=lambda f: (f.member, f.index)):
            control = _control(fact)
            self._control[control.kind].append(control)
        self._install()
        self._tell_clocks_apart()

    def add(self, facts: Iterable[Fact]) -> None:
        """Facts of segments that count; those of others are left out."""
        for fact in facts:
            if (fact.member, fact.segment) in self._kept:
                self.facts.append(fact)
                self._by_name[fact.rule, fact.what].append(fact)
                self._unsorted.add((fact.rule, fact.what))

    def of(self, rule: str, what: str) -> list[Fact]:
        """The facts of this name, each member's in the order of its recording."""
        name = (rule, what)
        if name in self._unsorted:
            self._by_name[name].sort(key=attrgetter("member", "segment", "index"))
            self._unsorted.discard(name)
        return self._by_name.get(name, [])

    def shared(self, make: Callable[[Run], T]) -> T:
        """What several rules make of the facts of kernels: made once."""
        if make not in self._shared:
            self._shared[make] = make(self)
        made: T = self._shared[make]
        return made

    def by_member(self, rule: str, what: str) -> dict[str, list[Fact]]:
        found: defaultdict[str, list[Fact]] = defaultdict(list)
        for fact in self.of(rule, what):
            found[fact.member].append(fact)
        return dict(found)

    def control(self, *kinds: Kind) -> list[Control]:
        """Control events by member, each member's in order."""
        rows = [row for kind in kinds for row in self._control.get(int(kind), [])]
        if len(kinds) > 1:
            rows.sort(key=lambda row: (row.member, row.index))
        return rows

    def control_by_member(self, *kinds: Kind) -> dict[str, list[Control]]:
        found: defaultdict[str, list[Control]] = defaultdict(list)
        for row in self.control(*kinds):
            found[row.member].append(row)
        return dict(found)

    def is_whole(self, member: str) -> bool:
        return member in self.members_by_key and self.members_by_key[member].is_whole

    def name(self, member: str) -> str:
        return str(address_of(member))

    def __iter__(self) -> Any:
        return iter(self.members_by_key.values())

    @cached_property
    def companies(self) -> dict[tuple[Any, ...], list[Stay]]:
        """Stays by company, in the order of members."""
        found: defaultdict[tuple[Any, ...], list[Stay]] = defaultdict(list)
        for member in self:
            for stay in member.stays:
                if stay.company is not None:
                    found[stay.company].append(stay)
        return dict(found)

    @cached_property
    def absent(self) -> list[str]:
        """Members of some view that have no recording."""
        seen: dict[str, None] = {}
        for member in self:
            for stay in member.stays:
                if stay.view is not None:
                    seen.update(dict.fromkeys(stay.view.members))
        return [key for key in seen if key not in self.members_by_key]

    # ---- putting together

    def _install(self) -> None:
        views = self.control_by_member(Kind.VIEW)
        closed = {row.member: str(row.detail.get("how", "ended")) for row in self.control(Kind.CLOSED)}
        for member in self:
            member.how = closed.get(member.key, "")
            before = Stay(member.key, None, 0)
            member.stays = [before]
            for row in views.get(member.key, []):
                try:
                    view = installed(row)
                except (ValueError, TypeError, LookupError) as error:
                    self.malformed.append(f"event {row.index} of {member} (VIEW) cannot be judged: {error}")
                    continue
                stay = Stay(member.key, view, row.index)
                member.stays[-1].end, member.stays[-1].next = row.index, view.id
                member.stays.append(stay)
            member.starts = [stay.start for stay in member.stays]
            self._choose_companies(member)

    def _tell_clocks_apart(self) -> None:
        """Members whose messages and roll calls contradict the name of their clock are on one of their own."""
        clocks = Clocks({member.key: member.clock for member in self})
        for fact in self.of("", "sent"):
            clocks.sent(fact.member, self._view_at(fact), fact.value)
        for fact in self.of("", "delivered"):
            clocks.delivered(fact.member, fact.peer, self._view_at(fact), fact.value)
        for row in self.control(Kind.ROLL_CALL, Kind.VIEW) if clocks.is_needed else ():
            if row.kind == Kind.ROLL_CALL:
                clocks.on_roll_call(row.member, row.detail, row.t_ns)
            elif row.view is not None:
                clocks.on_view(row.member, row.view[1], keys_of(row.detail.get("members")), row.t_ns)
        for key, clock in clocks.names().items():
            self.members_by_key[key].clock = clock

    def _view_at(self, fact: Fact) -> View | None:
        view = self.members_by_key[fact.member].stay_at(fact.index).view
        return None if view is None else view.id

    def _choose_companies(self, member: Member) -> None:
        for stay in member.stays:
            if stay.view is None:
                stay.company = None if member.has_views else ("bus", member.bus)
            elif stay.next is not None:
                stay.company = (stay.view.id, stay.next)
            elif member.is_whole and member.how == "ended":
                stay.company = (stay.view.id, "the end")


def _members(segments: Sequence[Fact]) -> dict[str, tuple[Member, list[int]]]:
    """Members with the segments that count: from number 0 on, up to the first that is missing or has a hole."""
    by_key: defaultdict[str, dict[int, Fact]] = defaultdict(dict)
    for fact in segments:
        by_key[fact.member].setdefault(fact.segment, fact)
    found = {}
    for key in sorted(by_key, key=address_of):
        parts = by_key[key]
        first = parts[min(parts)]
        header = values_in(first.data)
        member = Member(key, address_of(key), header["group"], header["clock"], detail_of(header["config"]))
        member.first_ns = int(header["first_ns"])
        kept: list[int] = []
        for number in range(max(parts) + 1):
            part = parts.get(number)
            if part is None:
                member.damage, member.closed = f"segment {number} is missing", False
                break
            kept.append(number)
            member.events = part.first + part.count
            member.last_ns = max(member.last_ns, part.other)
            member.ran_ns = max(member.ran_ns, part.high)
            member.closed = bool(part.value)
            if part.last or part.text:  # events were lost inside it, or it was cut
                member.damage, member.closed = part.text or f"{part.last} events were lost", False
                break
        member.dropped = sum(part.last for part in parts.values())
        found[key] = (member, kept)
    return found


def _control(fact: Fact) -> Control:
    t_ns, kind, view, first, count, value, other, detail = values_in(fact.data)
    return Control(
        fact.member,
        fact.index,
        t_ns,
        kind,
        None if view is None else (view[0], view[1]),
        fact.peer,
        fact.stream,
        first,
        count,
        value,
        other,
        detail_of(detail),
    )


def keys_of(addresses: Iterable[Any] | None) -> tuple[str, ...]:
    return tuple(key_of(as_address(address)) for address in addresses or ())


def view_key(view: ViewId | None) -> View | None:
    return None if view is None else (view.number, key_of(view.creator))


def installed(row: Control) -> Installed:
    """ValueError, TypeError or LookupError if the event does not carry a view."""
    detail = row.detail
    if row.view is None:
        raise ValueError("a VIEW event without a view id")
    members = keys_of(detail["members"])
    if not members:
        raise ValueError("a VIEW event without members")
    subgroups = tuple(keys_of(group) for group in detail.get("subgroups") or ())
    capacity = int(detail.get("capacity") or 0)
    digest = {key_of(as_address(who)): tuple(map(int, figures)) for who, *figures in detail.get("digest") or ()}
    previous = as_view_id(detail.get("previous"))
    observers = keys_of(detail.get("observers"))
    votes = {pair[0]: pair[1] for pair in map(keys_of, detail.get("votes") or ())}
    voters = tuple(dict.fromkeys(votes.get(member, member) for member in members if member not in observers))
    window_bytes = int(detail.get("window_bytes") or 0)
    content = repr((members, observers, subgroups, (capacity, window_bytes), detail.get("primary"), voters))
    merge_id = detail.get("merge_id")
    return Installed(
        row.view,
        row.index,
        row.t_ns,
        view_key(previous),
        members,
        subgroups,
        digest,  # type: ignore[arg-type]
        capacity,
        window_bytes,
        None if merge_id is None else str(merge_id),
        observers,
        content,
    )
