"""What is measured in one unit of a run (all members, some consecutive views), as small additive rows.

    latency      member = receiver, peer = sender, bin = histogram bucket of ns from SEND to DELIVER, value = messages
    pace         peer = time slot of the DELIVER, bin = the same bucket, value = messages, of all pairs
    delivered    member, bin = time slot, value = messages        sent   likewise
    occupancy    member, bin = time slot, value = highest occupancy of the send window
    events       member, bin = kind, value = events
    messages     member, bin = kind, value = messages in them

Latency is that of the last message of a run, counted for all of it. Only members on one clock are compared (on one
host all read the same monotonic clock, `Header.clock` names it): a difference of two clocks is not a latency.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from ringcast.model import Kind
from ringcast.pipeline.metrics.histogram import bucket_of
from ringcast.pipeline.rules.member import Array, Batch

METRICS = pa.schema(
    [
        ("metric", pa.string()),
        ("member", pa.int32()),
        ("peer", pa.int32()),
        ("bin", pa.int64()),
        ("value", pa.int64()),
    ]
)
COLUMNS = ["kind", "t_ns", "epoch", "peer", "stream", "first", "count", "value"]


@dataclass(frozen=True, slots=True)
class TimeSlots:
    start_ns: int
    width_ns: int

    def of(self, t_ns: Array) -> Array:
        slots: Array = (t_ns - self.start_ns) // self.width_ns
        return slots


@dataclass(slots=True)
class _Rows:
    rows: list[dict[str, Any]] = field(default_factory=list)

    def sums(self, metric: str, member: int, bins: Array, values: Array, peer: int = -1) -> None:
        if len(bins):
            different, place = np.unique(bins, return_inverse=True)
            self._add(metric, member, peer, different, np.bincount(place, weights=values))

    def highest(self, metric: str, member: int, bins: Array, values: Array) -> None:
        if len(bins):
            different, place = np.unique(bins, return_inverse=True)
            top = np.zeros(len(different), dtype=np.int64)
            np.maximum.at(top, place, values)
            self._add(metric, member, -1, different, top)

    def _add(self, metric: str, member: int, peer: int, bins: Array, values: Array) -> None:
        for place, value in zip(bins.tolist(), values.tolist(), strict=True):
            row = {"metric": metric, "member": member, "peer": peer, "bin": int(place), "value": int(value)}
            self.rows.append(row)


def measure_unit(members: Sequence[Batch], slots: TimeSlots, clocks: Sequence[str] = ()) -> pa.RecordBatch:
    out = _Rows()
    sends = [batch.where((batch.kind == Kind.SEND) & (batch.stream == 0)) for batch in members]
    for code, batch in enumerate(members):
        kinds = batch.kind.astype(np.int64)
        out.sums("events", code, kinds, np.ones(len(kinds)))
        out.sums("messages", code, kinds, batch.count)
        delivered = batch.where((batch.kind == Kind.DELIVER) & (batch.stream == 0))
        out.sums("delivered", code, slots.of(delivered.t_ns), delivered.count)
        out.sums("sent", code, slots.of(sends[code].t_ns), sends[code].count)
        out.highest("occupancy", code, slots.of(sends[code].t_ns), sends[code].value)
        for sender, sent in enumerate(sends):
            if clocks and clocks[sender] != clocks[code]:
                continue
            _latency(out, slots, (sender, code), sent, delivered.where(delivered.peer == sender))
    return pa.RecordBatch.from_pylist(out.rows, METRICS)


def _latency(out: _Rows, slots: TimeSlots, pair: tuple[int, int], sent: Batch, delivered: Batch) -> None:
    if not len(sent) or not len(delivered):
        return
    ends = sent.first + sent.count - 1
    last = delivered.first + delivered.count - 1
    at = np.searchsorted(ends, last)
    known = (at < len(ends)) & (last >= sent.first[0])
    buckets = bucket_of(delivered.t_ns[known] - sent.t_ns[at[known]])
    counts = delivered.count[known]
    sender, receiver = pair
    out.sums("latency", receiver, buckets, counts, sender)
    when = slots.of(delivered.t_ns[known])
    for slot in np.unique(when).tolist() if sender != receiver else ():
        out.sums("pace", -1, buckets[when == slot], counts[when == slot], slot)
