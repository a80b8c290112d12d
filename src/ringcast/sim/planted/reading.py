"""Mistakes between what is delivered and what the application is given (G15)."""

from __future__ import annotations

from ringcast.sim.planted.planting import Planted

READING = (
    Planted(
        "a run counts as taken before it is handed over",
        "G15",
        "ringcast.core.multicast.multicast:Multicast._deliver",
        "out.append(delivery)",
        "out += [*(() if incoming is None else self.on_taken(now_ns, delivery)), delivery]",
        seeds=2,
        fixed=True,
    ),
    Planted(
        "a run is handed over twice",
        "G15",
        "ringcast.core.multicast.multicast:Multicast._deliver",
        "out.append(delivery)",
        "out += [delivery] * (1 if incoming is None else 2)",
        seeds=2,
        fixed=True,
    ),
    Planted(
        "an ordered message is lost behind its place",
        "G15",
        "ringcast.core.ordering.delivery_queue:Destination.place",
        "out.append(dequeue)",
        "out += [dequeue] if batch.first % 16 else []",
        seeds=5,
        workload="total",
    ),
)
