"""One period of a history: everybody's events from one common view to the next common place, all guarantees kept.

Stretches of traffic between view changes; in the last but one the group is split in two, before the last it merges.
At each view change everything sent is delivered, taken, acked and purged, so the period can be followed by itself.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from random import Random
from typing import Any

from ringcast.bench.history.shape import Period, Shape
from ringcast.model import Address, Event, Kind, ViewId

STEP_NS = 2_000
SUSPENSION_NS = 5_000_000_000


def make_period(seed: int = 1, shape: Shape | None = None) -> Period:
    """A valid period; the same seed gives the same events."""
    return _Narrator(shape or Shape(), Random(f"history {seed}")).tell()


class _Narrator:
    """Plays the group and writes down what each member would record."""

    def __init__(self, shape: Shape, random: Random) -> None:
        count = shape.members
        self.shape = shape
        self.random = random
        self.addresses = [Address(f"{shape.name}{i:02d}", 1, f"127.0.0.1:{9000 + i}") for i in range(count)]
        self.events: list[list[Event]] = [[] for _ in range(count)]
        self.view: list[ViewId | None] = [None] * count
        self.sent = [0] * count
        self.low = [0] * count
        self.queued = [0] * count
        self.ready = [[0] * count for _ in range(count)]  # [receiver][sender]
        self.taken = [[0] * count for _ in range(count)]
        self.acked = [[0] * count for _ in range(count)]  # [sender][receiver]
        self.untaken = [[0] * count for _ in range(count)]
        self.backlog: list[list[deque[tuple[int, int]]]] = [[deque() for _ in range(count)] for _ in range(count)]
        self.ordered: list[deque[tuple[int, int, int]]] = [deque() for _ in range(count)]
        self.ordinal = [0] * count
        self.dequeued = [0] * count
        self.suspensions = [0] * count
        self.counter: dict[ViewId, int] = {}
        self.now_ns = 0
        self.number = 0

    # ---- the story

    def tell(self) -> Period:
        everybody = list(range(self.shape.members))
        half = (self.shape.members + 1) // 2 + (self.shape.members > 3)
        sides = [everybody[:half], everybody[half:]]
        self._change_view([everybody])
        if not self.shape.views:
            self._stretch([everybody], self.shape.deliveries)
            self._settle(everybody)
            return self._told()
        per_stretch = self.shape.deliveries // self.shape.views
        for _ in range(self.shape.views - 3):
            self._stretch([everybody], per_stretch)
            self._change_view([everybody])
        self._stretch([everybody], per_stretch)
        self._harness(Kind.FAULT, 0, {"what": "split"})
        self._change_view(sides)
        self._stretch(sides, per_stretch)
        self._wait_through(lambda: self._merge(sides))
        self._harness(Kind.HEAL, 5 * STEP_NS, {})
        self._stretch([everybody], per_stretch)
        self._settle(everybody)
        return self._told()

    def _told(self) -> Period:
        return Period(
            self.shape,
            self.addresses,
            self.events,
            list(self.sent),
            list(self.queued),
            list(self.ordinal),
            list(self.dequeued),
            self.now_ns + 10 * STEP_NS,
        )

    def _stretch(self, groups: list[list[int]], deliveries: int) -> None:
        before = sum(self.ordinal) + sum(self.dequeued)
        total = self._chance_of_total()
        while sum(self.ordinal) + sum(self.dequeued) - before < deliveries:
            for _ in range(50):
                group = self.random.choice(groups) if len(groups) > 1 else groups[0]
                self.now_ns += STEP_NS
                if self.random.random() < total:
                    self._queue(group, self.random.choice(group))
                else:
                    self._send(group, self.random.choice(group))
                self._progress(group)
        for group in groups:
            self._settle(group)

    def _chance_of_total(self) -> float:
        share, mean = self.shape.total_share, (1 + self.shape.longest_run) / 2
        return share * mean / (1 - share + share * mean)

    # ---- multicast

    def _send(self, group: list[int], sender: int) -> None:
        count = self.random.randint(1, self.shape.longest_run)
        if self.sent[sender] + count - self.low[sender] > self.shape.capacity:
            self._settle(group)
        first = self.sent[sender] + 1
        self.sent[sender] += count
        held = self.sent[sender] - self.low[sender]
        self._record(sender, Kind.SEND, first=first, count=count, value=held, other=self.low[sender])
        for receiver in group:
            self.backlog[receiver][sender].append((first, count))

    def _progress(self, group: list[int]) -> None:
        for _ in range(len(group) // 2):
            receiver = self.random.choice(group)
            self._dequeue(receiver)
            sender = self.random.choice(group)
            if self.backlog[receiver][sender]:
                self._deliver(receiver, sender)
        self._dequeue(self.random.choice(group))

    def _deliver(self, receiver: int, sender: int) -> None:
        first, count = self.backlog[receiver][sender].popleft()
        held, capacity = min(count, self.shape.capacity), self.shape.capacity
        run: dict[str, Any] = {"first": first, "count": count, "ordinal": self.ordinal[receiver]}
        self._record(receiver, Kind.DELIVER, sender, value=held, other=capacity, **run)
        self.ordinal[receiver] += count
        self.ready[receiver][sender] = first + count - 1
        self.untaken[receiver][sender] += 1
        if self.untaken[receiver][sender] >= 4:
            self._take(receiver, sender)

    def _take(self, receiver: int, sender: int) -> None:
        self.untaken[receiver][sender] = 0
        first, upto = self.taken[receiver][sender] + 1, self.ready[receiver][sender]
        if first > upto:
            return
        self._record(receiver, Kind.TAKEN, sender, first=first, count=upto - first + 1)
        self.taken[receiver][sender] = upto
        if receiver != sender:
            self.acked[sender][receiver] = upto
            self._record(sender, Kind.ACK, receiver, value=upto)

    def _purge(self, group: list[int], sender: int) -> None:
        others = [self.acked[sender][receiver] for receiver in group if receiver != sender]
        upto = min([*others, self.sent[sender]])
        if upto > self.low[sender]:
            first = self.low[sender] + 1
            self.low[sender] = upto
            self._record(sender, Kind.PURGE, first=first, count=upto - first + 1, value=upto)

    def _settle(self, group: list[int]) -> None:
        """Everything that is under way arrives, is read, acked and purged."""
        for receiver in group:
            while self.ordered[receiver]:
                self._dequeue(receiver)
            for sender in group:
                while self.backlog[receiver][sender]:
                    self._deliver(receiver, sender)
                self._take(receiver, sender)
        self.now_ns += STEP_NS
        for sender in group:
            self._purge(group, sender)

    # ---- total order

    def _queue(self, group: list[int], sender: int) -> None:
        chosen = self.random.sample(group, self.random.randint(1, len(group)))
        view = self.view[sender]
        assert view is not None
        self.queued[sender] += 1
        number = self.queued[sender]
        seq = self.counter[view] = self.counter.get(view, 0) + 1
        to = [self.addresses[receiver] for receiver in chosen]
        self._record(sender, Kind.QUEUE_START, first=number, count=1, detail={"to": to})
        self.now_ns += STEP_NS // 4
        self._record(sender, Kind.QUEUE_FINISH, first=number, count=1, value=seq)
        for receiver in chosen:
            self.ordered[receiver].append((sender, number, seq))

    def _dequeue(self, receiver: int) -> None:
        if self.ordered[receiver]:
            sender, number, seq = self.ordered[receiver].popleft()
            place: dict[str, Any] = {"ordinal": self.dequeued[receiver], "value": seq}
            self._record(receiver, Kind.DEQUEUE, sender, first=number, count=1, **place)
            self.dequeued[receiver] += 1

    # ---- views

    def _change_view(self, groups: list[list[int]]) -> None:
        self.number += 1
        for group in groups:
            coordinator = group[0]
            self._suspend(coordinator, "view")
            self._record(coordinator, Kind.ROLL_CALL, detail=self._asked("view", group))
            self._record(coordinator, Kind.ROLL_CALL, detail={"step": "end", "outcome": "installed"})
            self._install(group, {})
            self._resume(coordinator, "view-installed")

    def _merge(self, sides: list[list[int]]) -> None:
        self.number += 1
        merge_id = f"merge-{self.number}"
        leader = sides[0][0]
        self._suspend(leader, "merge", merge_id=merge_id)
        self._record(leader, Kind.MERGE, detail={"step": "start", "merge_id": merge_id})
        for side in sides:
            if side[0] != leader:
                self._suspend(side[0], "merge-request", merge_id=merge_id)
                self._record(side[0], Kind.MERGE, detail={"step": "accept", "merge_id": merge_id})
            self._record(side[0], Kind.MERGE, detail={"step": "call", "merge_id": merge_id})
            self._record(side[0], Kind.ROLL_CALL, detail=self._asked("merge", side))
            self._record(side[0], Kind.ROLL_CALL, detail={"step": "end", "outcome": "installed"})
        everybody = [member for side in sides for member in side]
        for member in everybody:
            entry: dict[str, Any] = {"first": self.low[member], "value": self.sent[member], "other": self.sent[member]}
            origin = {"origin": self.addresses[member], "merge_id": merge_id, "about": "member"}
            self._record(leader, Kind.DIGEST, member, detail=origin, **entry)
        self._reset(sides)
        groups = [[self.addresses[member] for member in side] for side in sides]
        self._install(everybody, {"subgroups": groups, "merge_id": merge_id})
        for side in sides:
            self._record(side[0], Kind.MERGE, detail={"step": "end", "merge_id": merge_id, "outcome": "installed"})
            self._resume(side[0], "merge-ended" if side[0] == leader else "merge-view")

    def _reset(self, sides: list[list[int]]) -> None:
        """Members of other sides begin where their digest says; nobody has more of them than that."""
        view = ViewId(self.number, self.addresses[0])
        for side in sides:
            for receiver in side:
                for sender in (m for other in sides if other is not side for m in other):
                    self.acked[sender][receiver] = self.sent[sender]
                    if self.ready[receiver][sender] < self.sent[sender]:
                        offset = {"value": self.sent[sender], "detail": {"cause": "merge"}}
                        self._record(receiver, Kind.OFFSET, sender, view=view, **offset)
                        self.ready[receiver][sender] = self.taken[receiver][sender] = self.sent[sender]

    def _install(self, group: list[int], more: dict[str, Any]) -> None:
        view = ViewId(self.number, self.addresses[group[0]])
        members = [self.addresses[member] for member in group]
        digest = [[self.addresses[m], self.low[m], self.sent[m], self.sent[m]] for m in group]
        for member in group:
            previous = self.view[member] or ViewId(0, self.addresses[0])
            detail = {
                "members": members,
                "previous": previous,
                "capacity": self.shape.capacity,
                "digest": digest,
                **more,
            }
            self._record(member, Kind.VIEW, view=view, detail=detail)
            self.view[member] = view

    def _asked(self, purpose: str, group: Sequence[int]) -> dict[str, Any]:
        return {"step": "start", "purpose": purpose, "asked": [self.addresses[member] for member in group]}

    def _suspend(self, member: int, cause: str, **more: str) -> None:
        self.suspensions[member] += 1
        number, end_ns = self.suspensions[member], self.now_ns + SUSPENSION_NS
        self._record(member, Kind.SUSPEND, value=number, other=end_ns, detail={"cause": cause, **more})

    def _resume(self, member: int, cause: str) -> None:
        detail = {"cause": cause, "has_view": True}
        self._record(member, Kind.RESUME, value=self.suspensions[member], detail=detail)

    def _wait_through(self, story: Any) -> None:
        self._record(0, Kind.WAIT_START, value=1, other=self.now_ns + SUSPENSION_NS, detail={"what": "merge"})
        story()
        self._record(0, Kind.WAIT_END, value=1, detail={"how": "done"})

    def _harness(self, kind: Kind, bound_ns: int, detail: dict[str, Any]) -> None:
        self._record(0, kind, value=bound_ns, detail=detail)

    def _record(
        self, member: int, kind: Kind, peer: int | None = None, view: ViewId | None = None, **fields: Any
    ) -> None:
        who = None if peer is None else self.addresses[peer]
        self.now_ns += 20
        self.events[member].append(Event(kind, self.now_ns, view or self.view[member], who, **fields))
