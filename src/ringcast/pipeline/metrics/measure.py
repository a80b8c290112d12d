"""The metrics of a run: from the facts of its segments to rows of the table `metrics`. ringcast.report reads them.

| metric | member | peer | label | t_ns | low_ns | value |
|---|---|---|---|---|---|---|
| latency | receiver | sender | | | lower bound of a bucket | messages (sampled) |
| view latency | receiver | | view and its creator | | | median in this view, as the lower bound of a bucket |
| pace | | | | begin of a slot | lower bound of a bucket | messages (sampled), of all pairs |
| delivered, sent, occupancy | member | | | begin of a slot | | messages; the most held |
| repair | member | to whom | | begin of a slot | | messages sent again |
| events, messages | member | | kind | | | how many |
| dropped | member | | reason | | | messages not used on arrival |
| view change, merge | member | | phase | when it ended | | ns |
| suspension, wait | member | | what | | | ns, one row for each |
| wait unended | | | what | | | how many |
| roll call | | | | | | members asked |

Latency is from SEND at the sender to DELIVER at the receiver, only between members on one clock.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import numpy as np

from ringcast.model import Kind
from ringcast.pipeline.metrics.kernel import GUARANTEE
from ringcast.pipeline.rules.fact import Fact, name_of
from ringcast.pipeline.rules.packed import unpack_columns
from ringcast.pipeline.rules.piece import Array, groups
from ringcast.pipeline.rules.run import Member, Run
from ringcast.report import CHANGE_KINDS, Changes, lower_bound, row_of

SLOTS = 128
_STEPS, _BITS = 16, 4  # of ringcast.report's histograms: so many buckets for each doubling
COLUMNS = ("metric", "member", "peer", "label", "t_ns", "low_ns", "value")
Row = tuple[str, str | None, str | None, str | None, int | None, int | None, int]
Samples = dict[tuple[str, str], list[tuple[int, Array, Array]]]  # (member, peer) -> step, seqnos, t_ns


def measured(run: Run) -> list[dict[str, Any]]:
    """The rows of one group of a run."""
    rows = [*_kinds(run), *_over_time(run), *_latencies(run)]
    for fact in run.of(GUARANTEE, "dropped"):
        rows.append(_row("dropped", fact.count, member=fact.member, label=fact.text))
    return [dict(zip(COLUMNS, row, strict=True)) for row in (*_added(rows), *_changes(run))]


def _row(
    metric: str,
    value: int,
    member: str = "",
    peer: str = "",
    label: str = "",
    t_ns: int | None = None,
    low_ns: int | None = None,
) -> Row:
    who, whom = name_of(member) if member else None, name_of(peer) if peer else None
    return metric, who, whom, label or None, t_ns, low_ns, int(value)


def _added(rows: Iterable[Row]) -> Iterable[Row]:
    """Rows with equal keys as one; of an occupancy the highest."""
    found: dict[Any, int] = {}
    for *key, value in rows:
        known = found.setdefault(name := tuple(key), 0)
        found[name] = max(known, value) if key[0] == "occupancy" else known + value
    return [(*key, value) for key, value in found.items()]


def _kinds(run: Run) -> Iterable[Row]:
    for fact in run.of(GUARANTEE, "kinds"):
        for kind, events, messages in zip(*(c.tolist() for c in unpack_columns(fact.data, 3)), strict=True):
            yield _row("events", events, member=fact.member, label=Kind(kind).name)
            yield _row("messages", messages, member=fact.member, label=Kind(kind).name)


def slot_width(run: Run) -> int:
    """The exponent of the slots of a run: at least that of every segment, and at most SLOTS of them."""
    facts = [*run.of(GUARANTEE, "slots"), *run.of(GUARANTEE, "repair")]
    width = max((fact.value for fact in facts), default=0)
    starts = [int(unpack_columns(f.data, 4 if f.what == "slots" else 2)[0].min()) << f.value for f in facts]
    span = max((member.last_ns for member in run), default=0) - min(starts, default=0)
    return max(width, max(0, span // SLOTS).bit_length())


def _over_time(run: Run) -> Iterable[Row]:
    width = slot_width(run)
    for fact in run.of(GUARANTEE, "slots"):
        slots, *columns = unpack_columns(fact.data, 4)
        begins = (slots << fact.value >> width << width).tolist()
        for metric, values in zip(("delivered", "sent", "occupancy"), columns, strict=True):
            for t_ns, value in zip(begins, values.tolist(), strict=True):
                if value:
                    yield _row(metric, value, member=fact.member, t_ns=t_ns)
    for fact in run.of(GUARANTEE, "repair"):
        slots, counts = unpack_columns(fact.data, 2)
        for t_ns, value in zip((slots << fact.value >> width << width).tolist(), counts.tolist(), strict=True):
            yield _row("repair", value, member=fact.member, peer=fact.peer, t_ns=t_ns)


def _latencies(run: Run) -> Iterable[Row]:
    width, slots, paces = slot_width(run), [], []
    in_view: defaultdict[str, list[tuple[Array, Array]]] = defaultdict(list)
    sent = {member: samples for (member, _), samples in _samples(run.of(GUARANTEE, "sent")).items()}
    for (receiver, sender), samples in _samples(run.of(GUARANTEE, "delivered")).items():
        if sender not in sent or run.members_by_key[sender].clock != run.members_by_key[receiver].clock:
            continue
        seqnos, begun = _together(sent[sender])
        arrived, t_ns = _together(samples)
        place = np.minimum(np.searchsorted(seqnos, arrived), len(seqnos) - 1)
        known = seqnos[place] == arrived
        buckets = bucket_of(t_ns[known] - begun[place[known]])
        yield from _histogram("latency", buckets, member=receiver, peer=sender)
        if sender != receiver:
            slots.append(t_ns[known] >> width << width)
            paces.append(buckets)
            in_view[receiver].append((t_ns[known], buckets))
    yield from _paces(slots, paces)
    for receiver, parts in in_view.items():
        yield from _view_latencies(run.members_by_key[receiver], *map(np.concatenate, zip(*parts, strict=True)))


def _view_latencies(receiver: Member, t_ns: Array, buckets: Array) -> Iterable[Row]:
    """The median from all others, for each view in which this member delivered."""
    views = [stay.view for stay in receiver.stays if stay.view is not None]
    place = np.searchsorted([view.t_ns for view in views], t_ns, side="right") - 1
    for group in groups(place):
        if place[group[0]] >= 0:
            number, creator = views[int(place[group[0]])].id
            median = int(np.sort(buckets[group])[(len(group) - 1) // 2])
            label = f"{number} {name_of(creator)}"
            yield _row("view latency", lower_bound(median), member=receiver.key, label=label)


def bucket_of(values: Array) -> Array:
    """The bucket of each value; below 32 every value has its own, negative ones count as 0."""
    values = np.maximum(values, 0).astype(np.int64)
    doubling = np.maximum(0, np.log2(np.maximum(values, 1)).astype(np.int64) - _BITS)
    buckets: Array = doubling * _STEPS + (values >> doubling)
    return buckets


def _paces(slots: list[Array], buckets: list[Array]) -> Iterable[Row]:
    """Histograms by slot, of all pairs."""
    if slots:
        both = np.stack([np.concatenate(slots), np.concatenate(buckets)])
        (begins, found), counts = np.unique(both, axis=1, return_counts=True)
        for t_ns, bucket, count in zip(begins.tolist(), found.tolist(), counts.tolist(), strict=True):
            yield _row("pace", count, t_ns=t_ns, low_ns=lower_bound(bucket))


def _samples(facts: Iterable[Fact]) -> Samples:
    found: defaultdict[tuple[str, str], list[tuple[int, Array, Array]]] = defaultdict(list)
    for fact in facts:
        if fact.data:
            seqnos, t_ns = unpack_columns(fact.data, 2)
            found[fact.member, fact.peer].append((fact.value, seqnos, t_ns))
    return dict(found)


def _together(samples: list[tuple[int, Array, Array]]) -> tuple[Array, Array]:
    """All samples of a stream by seqno, each once."""
    seqnos = np.concatenate([part for _, part, _ in samples])
    t_ns = np.concatenate([part for _, _, part in samples])
    seqnos, first = np.unique(seqnos, return_index=True)
    return seqnos, t_ns[first]


def _histogram(metric: str, buckets: Array, member: str = "", peer: str = "") -> Iterable[Row]:
    different, counts = np.unique(buckets, return_counts=True)
    for bucket, count in zip(different.tolist(), counts.tolist(), strict=True):
        yield _row(metric, count, member=member, peer=peer, low_ns=lower_bound(bucket))


def _changes(run: Run) -> list[Row]:
    rows = []
    for member, control in run.control_by_member(*CHANGE_KINDS).items():
        changes = Changes()
        changes.add(row_of(row.kind, row.t_ns, row.value, row.detail) for row in control)
        rows += [_row(metric, value, member, label=label) for metric, label, value in changes.rows()]
    return rows
