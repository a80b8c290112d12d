"""From trace events to what the page draws: one pure fold, the same for a live group, a simulated one and a recording.

`on_event` takes events in the order of time, `drawn` gives plain values ready for JSON. The page only draws them.
Invariant: nothing grows without a bound; what is old leaves the lists from the front.
Not a judge: what is drawn is what members said, right or wrong.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ringcast.model import SECOND, STREAMS_PER_EPOCH, Address, Event, Kind, ViewId
from ringcast.page.meter import Meter
from ringcast.trace import as_address, as_addresses, detail_of, is_harness

# Kept with `history=1`, which is right for what changes while one looks; a report keeps more.
MOST_VIEWS = 400
MOST_SPANS = 1_200
MOST_FAULTS = 400
MOST_SUSPICIONS = 200
MOST_MERGES = 40
MOST_STEPS = 60
MOST_SAMPLES = 600
MOST_KEYS = 4_096
SAMPLE_NS = SECOND // 2

_INSTANT = frozenset(("crash", "crashed", "kill", "start", "leave", "death"))
PRIVATE = 1  # the channel of private messages; 0 is the multicast, the others carry no messages of applications


@dataclass(slots=True)
class MemberScene:
    """One process, as its own events and those of others show it."""

    address: Address
    state: str = "joining"  # joining, member, crashed, left, ended
    view: str | None = None
    low: int = 0
    high: int = 0
    held: int = 0
    capacity: int = 0
    sent: Meter = field(default_factory=Meter)
    received: Meter = field(default_factory=Meter)
    repaired: Meter = field(default_factory=Meter)
    handler: str | None = None  # why its view handler is suspended
    suspects: dict[str, str] = field(default_factory=dict)
    waits: dict[int, tuple[str, int]] = field(default_factory=dict)  # number -> (what, since)
    words: Sequence[Mapping[str, Any]] = ()  # waits with their reasons, where somebody could be asked


@dataclass(slots=True)
class LinkScene:
    """One direction between two members: what the second got of the first's multicasts and private messages."""

    delivered: Meter = field(default_factory=Meter)
    missing: Meter = field(default_factory=Meter)  # asked for again
    at: int = 0  # highest seqno of the multicast that was delivered


class Scene:
    """Everything that is drawn at one moment."""

    def __init__(self, history: int = 1) -> None:
        self.now_ns = 0
        self.begin_ns: int | None = None
        self._most_views, self._most_merges = MOST_VIEWS * history, MOST_MERGES * history
        self.events = 0
        self.members: dict[str, MemberScene] = {}
        self._keys: dict[Address, str] = {}
        self._links: dict[tuple[str, str], LinkScene] = {}
        self._views: dict[str, dict[str, Any]] = {}
        self._spans: deque[dict[str, Any]] = deque(maxlen=MOST_SPANS * history)
        self._open: dict[str, dict[str, Any]] = {}  # the span that each member is in
        self._faults: deque[dict[str, Any]] = deque(maxlen=MOST_FAULTS * history)
        self._suspicions: deque[dict[str, Any]] = deque(maxlen=MOST_SUSPICIONS * history)
        self._merges: dict[str, dict[str, Any]] = {}
        self._samples: deque[tuple[int, dict[str, int]]] = deque(maxlen=MOST_SAMPLES)  # received per second
        self._next_sample_ns = 0
        self._on: dict[Kind, Callable[[str, MemberScene, Event], None]] = {
            Kind.CLOSED: self._on_closed,
            Kind.SEND: self._on_send,
            Kind.DELIVER: self._on_deliver,
            Kind.PURGE: self._on_purge,
            Kind.REQUEST: self._on_request,
            Kind.REPAIR: self._on_repair,
            Kind.OFFSET: self._on_offset,
            Kind.VIEW: self._on_view,
            Kind.SUSPEND: self._on_suspend,
            Kind.RESUME: self._on_resume,
            Kind.SUSPECT: self._on_suspect,
            Kind.MERGE: self._on_merge,
            Kind.WAIT_START: self._on_wait,
            Kind.WAIT_END: self._on_wait_end,
            Kind.DEQUEUE: self._on_dequeue,
        }

    # ---- the fold

    def on_event(self, who: Address, event: Event) -> None:
        """One event of one member (or of the harness, for faults and heals)."""
        self.events += 1
        if event.t_ns > self.now_ns:
            self.on_time(event.t_ns)
        if self.begin_ns is None:
            self.begin_ns = event.t_ns
        if event.kind is Kind.FAULT:
            self._on_fault(event)
        elif event.kind is Kind.HEAL:
            self._on_heal(event)
        elif not is_harness(who):
            key = self._key(who)
            member = self.members.get(key)
            if member is None:
                member = self.members[key] = MemberScene(who)
            do = self._on.get(event.kind)
            if do is not None:
                do(key, member, event)

    def _key(self, who: Address) -> str:
        """The full name, which costs too much to make for every event."""
        key = self._keys.get(who)
        if key is None:
            if len(self._keys) >= MOST_KEYS:
                self._keys.clear()
            key = self._keys[who] = str(who)
        return key

    def on_time(self, now_ns: int) -> None:
        """Time passed, although nothing may have happened."""
        self.now_ns = max(self.now_ns, now_ns)
        if self.now_ns >= self._next_sample_ns:
            rates = {
                key: member.received.per_second(self.now_ns)
                for key, member in self.members.items()
                if member.state == "member"
            }
            self._samples.append((self.now_ns, rates))
            self._next_sample_ns = self.now_ns - self.now_ns % SAMPLE_NS + SAMPLE_NS

    def on_waiting(self, who: Address, words: Sequence[Mapping[str, Any]]) -> None:
        """What waits at a member, in its own words."""
        member = self.members.get(str(who))
        if member is not None:
            member.words = words

    def on_gone(self, who: Address, state: str) -> None:
        """Nobody answers for this member any more."""
        member = self.members.get(str(who))
        if member is not None and member.state in ("joining", "member"):
            member.state = state
            self._close_span(str(who))

    # ---- a member's life

    def _on_closed(self, key: str, member: MemberScene, event: Event) -> None:
        how = str(detail_of(event.detail).get("how", "ended"))
        member.state = how if how in ("crashed", "left") else "ended"
        member.handler, member.words = None, ()
        member.suspects.clear()
        member.waits.clear()
        self._close_span(key)

    # ---- messages

    def _on_send(self, key: str, member: MemberScene, event: Event) -> None:
        if not _is_of_application(event):
            return
        member.sent.add(event.t_ns, event.count)
        if event.stream == 0:
            member.high = event.first + event.count - 1
            member.low, member.held = event.other, event.value

    def _on_deliver(self, key: str, member: MemberScene, event: Event) -> None:
        if event.peer is None or not _is_of_application(event):
            return
        member.received.add(event.t_ns, event.count)
        link = self._link(self._key(event.peer), key)
        link.delivered.add(event.t_ns, event.count)
        if event.stream == 0:
            link.at = event.first + event.count - 1

    def _on_dequeue(self, key: str, member: MemberScene, event: Event) -> None:
        member.received.add(event.t_ns, event.count)

    def _on_purge(self, key: str, member: MemberScene, event: Event) -> None:
        if event.stream == 0:
            member.low = event.value
            member.held = max(0, member.high - member.low)

    def _on_request(self, key: str, member: MemberScene, event: Event) -> None:
        if event.peer is not None:
            self._link(self._key(event.peer), key).missing.add(event.t_ns, event.count)

    def _on_repair(self, key: str, member: MemberScene, event: Event) -> None:
        member.repaired.add(event.t_ns, event.count)

    def _on_offset(self, key: str, member: MemberScene, event: Event) -> None:
        if event.peer is not None and event.stream == 0:
            self._link(self._key(event.peer), key).at = event.value

    def _link(self, sender: str, receiver: str) -> LinkScene:
        link = self._links.get((sender, receiver))
        if link is None:
            link = self._links[sender, receiver] = LinkScene()
        return link

    # ---- views

    def _on_view(self, key: str, member: MemberScene, event: Event) -> None:
        detail = detail_of(event.detail)
        view = self._view(event.view, detail, event.t_ns)
        member.state, member.view = "member", view["id"]
        member.capacity = int(detail.get("capacity") or member.capacity)
        member.suspects.clear()
        view["at"].append({"member": key, "t": event.t_ns})
        self._close_span(key, event.t_ns)
        span = {"member": key, "view": view["id"], "from": event.t_ns, "to": None}
        self._spans.append(span)
        self._open[key] = span

    def _view(self, view_id: ViewId | None, detail: Mapping[str, Any], t_ns: int) -> dict[str, Any]:
        name = str(view_id)
        view = self._views.get(name)
        if view is None:
            members = as_addresses(detail.get("members"))
            observers = as_addresses(detail.get("observers"))
            view = self._views[name] = {
                "id": name,
                "label": _short_view(view_id),
                "members": [str(member) for member in members],
                "observers": [str(member) for member in observers],
                "coordinator": str(next((m for m in members if m not in observers), "")),
                "subgroups": [[str(m) for m in as_addresses(side)] for side in detail.get("subgroups") or ()],
                "primary": detail.get("primary"),
                "t": t_ns,
                "at": [],
            }
            while len(self._views) > self._most_views:
                self._views.pop(next(iter(self._views)))
        return view

    def _close_span(self, key: str, t_ns: int | None = None) -> None:
        span = self._open.pop(key, None)
        if span is not None:
            span["to"] = self.now_ns if t_ns is None else t_ns

    # ---- membership and merge

    def _on_suspend(self, key: str, member: MemberScene, event: Event) -> None:
        member.handler = str(detail_of(event.detail).get("cause"))

    def _on_resume(self, key: str, member: MemberScene, event: Event) -> None:
        member.handler = None

    def _on_suspect(self, key: str, member: MemberScene, event: Event) -> None:
        if event.peer is None:
            return
        whom, why = str(event.peer), str(detail_of(event.detail).get("why") or "")
        if whom not in member.suspects:
            self._suspicions.append({"t": event.t_ns, "by": key, "whom": whom, "why": why})
        member.suspects[whom] = why

    def _on_merge(self, key: str, member: MemberScene, event: Event) -> None:
        detail = detail_of(event.detail)
        name = _plain_id(detail.get("merge_id"))
        merge = self._merges.get(name)
        if merge is None:
            merge = self._merges[name] = {"id": name, "t": event.t_ns, "steps": deque(maxlen=MOST_STEPS), "end": None}
            while len(self._merges) > self._most_merges:
                self._merges.pop(next(iter(self._merges)))
        step = {"t": event.t_ns, "member": key, "step": str(detail.get("step"))}
        outcome = detail.get("outcome")
        if outcome is not None:
            step["outcome"] = merge["end"] = str(outcome)
        merge["steps"].append(step)

    # ---- waits

    def _on_wait(self, key: str, member: MemberScene, event: Event) -> None:
        member.waits[event.value] = (str(detail_of(event.detail).get("what")), event.t_ns)

    def _on_wait_end(self, key: str, member: MemberScene, event: Event) -> None:
        member.waits.pop(event.value, None)

    # ---- faults

    def _on_fault(self, event: Event) -> None:
        detail = detail_of(event.detail)
        what = str(detail.get("what"))
        fault = {
            "what": what,
            "members": _struck(detail),
            "amount": detail.get("amount") or 0,
            "from": event.t_ns,
            "to": event.t_ns if what in _INSTANT else None,
        }
        self._faults.append(fault)

    def _on_heal(self, event: Event) -> None:
        detail = detail_of(event.detail)
        if event.peer is not None:  # A process that was stopped runs again.
            return
        what, members = str(detail.get("what", "all")), _struck(detail)
        for fault in self._faults:
            if fault["to"] is None and (what == "all" or (fault["what"] == what and fault["members"] == members)):
                fault["to"] = event.t_ns
        if what == "all":
            self._faults.append({"what": "heal", "members": [], "amount": 0, "from": event.t_ns, "to": event.t_ns})

    # ---- what is drawn

    def drawn(self) -> dict[str, Any]:
        """Plain values for the page. Times are seconds since the first event."""
        begin_ns = self.begin_ns or 0
        current = [member.view for member in self.members.values() if member.state == "member"]
        return {
            "now": self._seconds(self.now_ns),
            "begin_ns": begin_ns,
            "events": self.events,
            "members": [self._drawn_member(key, member) for key, member in self.members.items()],
            "links": self._drawn_links(),
            "views": [self._drawn_view(view) for view in self._views.values()],
            "current_views": list(dict.fromkeys(view for view in current if view is not None)),
            "spans": [self._timed(span) for span in self._spans],
            "faults": self._drawn_faults(),
            "suspicions": [{**item, "t": self._seconds(item["t"])} for item in self._suspicions],
            "merges": [self._drawn_merge(merge) for merge in self._merges.values()],
            "rates": self._drawn_rates(),
        }

    def _seconds(self, t_ns: int) -> float:
        return round((t_ns - (self.begin_ns or 0)) / SECOND, 4)

    def _timed(self, item: Mapping[str, Any]) -> dict[str, Any]:
        to = item["to"]
        return {**item, "from": self._seconds(item["from"]), "to": None if to is None else self._seconds(to)}

    def _drawn_faults(self) -> list[dict[str, Any]]:
        """What began and ended together is one fault: a cut of six links is drawn once."""
        together: dict[tuple[Any, ...], dict[str, Any]] = {}
        for fault in self._faults:
            key = (fault["what"], fault["from"], fault["to"], fault["amount"])
            whom = " ".join(fault["members"])
            known = together.get(key)
            if known is None:
                together[key] = {**self._timed(fault), "whom": [whom] if whom else []}
            elif whom not in known["whom"]:
                known["whom"].append(whom)
        return [_as_cut(fault) for fault in together.values()]

    def _drawn_member(self, key: str, member: MemberScene) -> dict[str, Any]:
        now_ns = self.now_ns
        view = self._views.get(member.view or "")
        receivers = view["members"] if view is not None else []
        return {
            "key": key,
            "name": member.address.name,
            "incarnation": key.partition("#")[2],
            "endpoint": member.address.endpoint,
            "state": member.state,
            "view": member.view,
            "coordinator": view is not None and view["coordinator"] == key and member.state == "member",
            "observer": view is not None and key in view["observers"],
            "primary": None if view is None else view["primary"],
            "low": member.low,
            "high": member.high,
            "held": member.held,
            "capacity": member.capacity,
            "delivered": {
                receiver: self._links[key, receiver].at for receiver in receivers if (key, receiver) in self._links
            },
            "sent_per_second": member.sent.per_second(now_ns),
            "received_per_second": member.received.per_second(now_ns),
            "repaired_per_second": member.repaired.per_second(now_ns),
            "sent": member.sent.total,
            "received": member.received.total,
            "repaired": member.repaired.total,
            "handler": member.handler,
            "suspects": dict(member.suspects),
            "waiting": self._drawn_waits(member),
        }

    def _drawn_waits(self, member: MemberScene) -> list[dict[str, Any]]:
        if member.words:
            return [dict(words) for words in member.words]
        return [
            {"what": what, "because": "", "since_seconds": round((self.now_ns - since_ns) / SECOND, 3)}
            for what, since_ns in member.waits.values()
        ]

    def _drawn_links(self) -> list[dict[str, Any]]:
        """Links between members that live; who is gone has none."""
        now_ns = self.now_ns
        alive = {key for key, member in self.members.items() if member.state == "member"}
        return [
            {
                "from": sender,
                "to": receiver,
                "per_second": link.delivered.per_second(now_ns),
                "missing_per_second": link.missing.per_second(now_ns),
                "at": link.at,
            }
            for (sender, receiver), link in self._links.items()
            if sender != receiver and sender in alive and receiver in alive
        ]

    def _drawn_view(self, view: Mapping[str, Any]) -> dict[str, Any]:
        at = [{"member": item["member"], "t": self._seconds(item["t"])} for item in view["at"]]
        return {**view, "t": self._seconds(view["t"]), "at": at}

    def _drawn_rates(self) -> dict[str, Any]:
        """Received per second over time, a row for each member that is drawn."""
        keys = list(self.members)
        return {
            "t": [self._seconds(t_ns) for t_ns, _ in self._samples],
            "members": keys,
            "rows": [[rates.get(key) for _, rates in self._samples] for key in keys],
        }

    def _drawn_merge(self, merge: Mapping[str, Any]) -> dict[str, Any]:
        steps = [{**step, "t": self._seconds(step["t"])} for step in merge["steps"]]
        return {**merge, "t": self._seconds(merge["t"]), "steps": steps}


def _struck(detail: Mapping[str, Any]) -> list[str]:
    """Whom a fault concerns: members, or the two sides of a cut."""
    if "left" in detail and "right" in detail:
        return [" ".join([*map(str, detail["left"]), "|", *map(str, detail["right"])])]
    return [str(name) for name in detail.get("members") or ()]


def _as_cut(fault: dict[str, Any]) -> dict[str, Any]:
    """Links that are dead both ways between two sides are a cut: `A B | C`."""
    pairs = [tuple(whom.split()) for whom in fault["whom"]]
    if fault["what"] != "one-way" or any(len(pair) != 2 for pair in pairs):
        return fault
    left = [pairs[0][0], *(a for a, b in pairs[1:] if b == pairs[0][1] and a != pairs[0][0])]
    right = [b for a, b in pairs if a == left[0]]
    wanted = {pair for a in left for b in right for pair in ((a, b), (b, a))}
    if wanted != set(pairs):
        return fault
    return {**fault, "what": "cut", "whom": [" ".join([*left, "|", *right])]}


def _is_of_application(event: Event) -> bool:
    return event.stream % STREAMS_PER_EPOCH <= PRIVATE


def _short_view(view_id: ViewId | None) -> str:
    return "" if view_id is None else f"{view_id.creator.name}|{view_id.number}"


def _plain_id(value: Any) -> str:
    """A merge id as text, whether it is fresh or comes back from a file."""
    if isinstance(value, list | tuple) and len(value) == 2:
        try:
            return f"{as_address(value[0])}~{value[1]}"
        except (ValueError, TypeError, IndexError):
            pass
    return str(value)
