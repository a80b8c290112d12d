"""What one seed means: everything about a run that is drawn, before it begins.

Swarm: a seed does not only shake the dice, it also decides which dice there are (which kinds of faults, which sizes,
which config), so that thousands of seeds see combinations that no one mixture would.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from random import Random

from ringcast.model import MS, SECOND, Config, profile
from ringcast.sim.cluster import names_of
from ringcast.sim.faults import KINDS, LASTING_KINDS, LIFE_FAULTS, LINK_CHANGES, MEMBER_FAULTS, PARTITIONS, Fault
from ringcast.sim.network import Link
from ringcast.sim.workload import Load

FEWEST_FAULTS = 5


@dataclass(frozen=True, slots=True)
class Options:
    """One run. `safety_ns` under faults, then everything heals and all waits must end within `bound_ns`."""

    seed: int
    members: int = 3
    config: Config = field(default_factory=lambda: profile("test"))
    link: Link = field(default_factory=Link)
    multicasts: bool = False
    fixed: bool = False  # everybody in one view for ever; otherwise members find each other, come and go
    load: Load = field(default_factory=Load)
    faults: tuple[Fault, ...] = ()
    safety_ns: int = 10 * SECOND
    bound_ns: int = 5 * SECOND

    def without_fault(self, index: int) -> Options:
        return replace(self, faults=self.faults[:index] + self.faults[index + 1 :])


def draw(seed: int, members: tuple[int, int] = (2, 7), *, fixed: bool = False) -> Options:
    """The run that belongs to a seed."""
    random = Random(f"{seed}/options")
    count = random.randint(*members)
    safety_ns = random.randint(10 * SECOND, 14 * SECOND)
    return Options(
        seed,
        count,
        _config(random),
        _link(random),
        random.random() < 0.5,
        fixed,
        _load(random, count),
        _faults(random, names_of(count), LASTING_KINDS if fixed else KINDS, safety_ns),
        safety_ns,
        5 * SECOND if fixed else 15 * SECOND,
    )


def _config(random: Random) -> Config:
    return profile(
        "test",
        capacity=random.choice((1, 2, 5, 16, 64, 256)),
        ack_every=random.choice((0, 0, 1, 3)),
        stream_capacity=random.choice((1, 4, 32, 32)),
        frame_bytes=random.choice((700, 1400, 8000)),
        window_bytes=random.choice((2_000, 64_000, 1_000_000)),
        xmit_interval_ns=random.choice((5, 10, 20, 50)) * MS,
        request_ranges=random.choice((1, 4, 128)),
        request_messages=random.choice((1, 16, 4096)),
        self_delivery=random.random() < 0.8,
    )


def _link(random: Random) -> Link:
    return Link(
        delay_ns=random.choice((1, 200, 1000, 5000)) * MS // 1000,
        jitter_ns=random.choice((0, 0, 300, 3000)) * MS // 1000,
        loss=random.choice((0.0, 0.0, 0.01, 0.1)),
        duplicate=random.choice((0.0, 0.0, 0.05)),
        reorder=random.choice((0.0, 0.0, 0.1)),
    )


def _load(random: Random, members: int) -> Load:
    # Enough for a thousand deliveries whatever the number of members, and little enough for thousands of seeds.
    per_second = max(5.0, 200.0 / members**2) * random.choice((1.0, 1.0, 2.0))
    large = random.randint(500, 6000)
    sizes = random.choice(((10,), (10, 100), (0, 1, 500), (100, large), (50, large, 20_000)))
    return Load(per_second, sizes, random.choice((0.0, 0.2, 0.5)), random.choice((1, 1, 5, 20)))


def _faults(random: Random, names: list[str], known: tuple[str, ...], safety_ns: int) -> tuple[Fault, ...]:
    kinds = random.sample(sorted(known), random.randint(3, len(known)))
    count = random.randint(FEWEST_FAULTS, 12)
    return tuple(_fault(random, random.choice(kinds), names, safety_ns) for _ in range(count))


def _fault(random: Random, kind: str, names: list[str], safety_ns: int) -> Fault:
    at_ns = random.randint(SECOND // 10, safety_ns - SECOND)
    until_ns = min(safety_ns, at_ns + random.choice((50, 300, 1000, 3000)) * MS)
    return Fault(kind, at_ns, until_ns, _whom(random, kind, names), _amount(random, kind))


def _whom(random: Random, kind: str, names: list[str]) -> tuple[str, ...]:
    shuffled = random.sample(names, len(names))
    if kind in ("split", "bridge"):
        return tuple(shuffled[: random.randint(1, max(1, len(names) - 1))])
    if kind == "one-way":
        return tuple(shuffled[:2])
    if kind in PARTITIONS or kind in MEMBER_FAULTS or kind in LIFE_FAULTS:
        return tuple(shuffled[:1])
    return tuple(shuffled[: random.choice((0, 1, 2))])


_SHARES = {"loss": (0.1, 0.5, 0.9), "duplicate": (0.1, 1.0), "reorder": (0.1, 0.9), "damage": (0.05, 0.5)}
_AMOUNTS: dict[str, tuple[float, ...]] = {
    **_SHARES,
    "delay": (5, 50, 200),
    "jitter": (5, 50),
    "slow-link": (5_000, 100_000),
    "slow-reading": (5, 50, 500),
    "clock": (-500_000, -1000, 1000, 1_000_000),
}


def _amount(random: Random, kind: str) -> float:
    return random.choice(_AMOUNTS[kind]) if kind in _AMOUNTS else 0.0


assert set(LINK_CHANGES) <= set(_AMOUNTS), "every change of a link needs an amount"
