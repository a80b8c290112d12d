"""Mistakes in the one order (seed 002): who has staged what, and what becomes of it when the view changes."""

from __future__ import annotations

from ringcast.sim.planted.planting import Planted

_ORDERING = "ringcast.core.ordering"

ORDERING = (
    Planted(
        "a tie is broken by the local id",
        "G12",
        f"{_ORDERING}.ordering:Ordering.settle",
        "for rank, batch in settled.placed:",
        "for rank, batch in sorted(settled.placed, key=lambda placed: placed.sender != here.rank):",
        seeds=20,
    ),
    Planted(
        "a message has its place before all have staged it",
        "G13",
        f"{_ORDERING}.sequencer:Sequencer._is_staged",
        "if self._floor(rank) >= batch.last:",
        "if True:",
        seeds=15,
    ),
    Planted(
        "what is announced together is read from the last to the first",
        "G11",
        f"{_ORDERING}.sender_queue:SenderQueue.announce",
        "placed.append(self.held.popleft())",
        "placed.insert(0, self.held.popleft())",
        seeds=10,
        workload="total",
        kinds=("loss", "jitter"),
        lengths_ms=(1000,),
    ),
    Planted(
        "a staged message of a dead sender is kept",
        "liveness",
        f"{_ORDERING}.settlement:plan",
        "if sender not in going:",
        "if True:",
        seeds=30,
        workload="total",
        kinds=("death", "crash", "one-way", "one-way"),
    ),
    Planted(
        "an ordered message is forgotten at its second destination",
        "G16",
        f"{_ORDERING}.delivery_queue:Destination.place",
        "if batch.to & bit and payloads is not None:",
        "if batch.to & bit and payloads is not None and (self.rank != 1 or batch.first % 8):",
        seeds=5,
        workload="total",
    ),
)
