"""What one seed means: everything about a run that is drawn, before it begins.

Swarm: a seed does not only shake the dice, it also decides which dice there are (which kinds of faults, which sizes,
which config), so that thousands of seeds see combinations that no one mixture would.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from random import Random

from ringcast.model import MS, SECOND, Config, profile
from ringcast.runtime import OnExclusion
from ringcast.sim.fault_draws import (
    DEATH,
    FEWEST_FAULTS,
    draw_deaths,
    draw_dividing,
    draw_fault,
    draw_faults,
    draw_long,
    draw_members,
    draw_renewals,
    draw_step_crashes,
    long_fault,
    presence,
    survivable,
)
from ringcast.sim.faults import LIFE_FAULTS, Fault
from ringcast.sim.network import Link
from ringcast.sim.policies import Policy, draw_policy
from ringcast.sim.stateful import StateLoad, draw_state
from ringcast.sim.workload import Load, OrderedLoad, draw_ordered
from ringcast.sim.world import names_of

# total: always sends in the one order, to random subsets too; state: everybody joins with the others' state, and half
# of the seeds merge states; rejoin: who was excluded comes back as a new incarnation, half of the seeds with state;
# sealed: as mixed, with a key that is changed under way.
# any: one of them, which the seed decides.
ANY = "any"
WORKLOADS = (ANY, "mixed", "total", "state", "rejoin", "sealed")
_SHARES_OF_ANY = {"mixed": 5, "total": 2, "state": 2, "rejoin": 1}
_DELIVERIES = 900  # about so many where nothing disturbs: enough to judge, and few enough for thousands of seeds
_BEGINNING_AGAIN = tuple(kind for kind in LIFE_FAULTS if kind != DEATH)  # deaths are drawn for themselves
_LONGEST_ORDINARY_NS = 11 * SECOND
_FAR_NS = 5 * MS
_MANY = 7  # members; where there are more, each sends less


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
    workload: str = "mixed"  # see WORKLOADS
    policy: Policy = field(default_factory=Policy)

    @property
    def _has_state(self) -> bool:
        return self.workload == "state" or (self.workload == "rejoin" and self.seed % 2 == 1)

    @property
    def ordered(self) -> OrderedLoad:
        load = draw_ordered(self.seed, self.members, always=self.workload == "total")
        share = min(1.0, _MANY**2 / self.members**2) * min(1.0, _LONGEST_ORDINARY_NS / self.safety_ns)
        return replace(load, per_second=load.per_second * share)

    @property
    def state(self) -> StateLoad | None:
        """How applications hold their state, if they have one."""
        if not self._has_state or self.fixed:
            return None
        configs = (self.config, *self.configs.values())
        narrow = min(config.stream_capacity for config in configs) < 4
        # One or two parts for each way there and back: as many states follow each other, so many times some seconds.
        slow = self.link.delay_ns >= _FAR_NS and any(config.window_bytes < 4 * config.frame_bytes for config in configs)
        return draw_state(self.seed, self.safety_ns, is_narrow=narrow or slow)

    @property
    def names(self) -> list[str]:
        return names_of(self.members)

    @property
    def configs(self) -> dict[str, Config]:
        """Of members whose config differs."""
        if not self.policy.own_configs:
            return {}
        drawn = {name: _config(Random(f"{self.seed}/{name}/config")) for name in self.names}
        if not self._has_state:
            return drawn
        return {name: replace(config, self_delivery=True) for name, config in drawn.items()}

    @property
    def key_changes(self) -> tuple[int, int] | None:
        """How often the key is changed, and until when; None: frames travel in clear."""
        return (Random(f"{self.seed}/key changes").randint(1, 3), self.safety_ns) if self.workload == "sealed" else None

    @property
    def on_exclusion(self) -> OnExclusion:
        """What a member does that the others went on without."""
        return "rejoin" if self.workload == "rejoin" or self.policy.partition == "primary" else "merge"

    def without_fault(self, index: int) -> Options:
        return replace(self, faults=self.faults[:index] + self.faults[index + 1 :])


def draw(seed: int, members: tuple[int, int] | None = None, *, fixed: bool = False, workload: str = "mixed") -> Options:
    """The run that belongs to a seed. Members: those asked for, or as many as the seed says."""
    random = Random(f"{seed}/options")
    if workload == ANY:
        workload = "mixed" if fixed else _workload(seed)
    count = random.randint(*(members or draw_members(seed)))
    names = names_of(count)
    safety_ns = random.randint(10_000, 11_000) * MS
    long = None if fixed else draw_long(seed, count)
    if long is not None:
        safety_ns = max(safety_ns, long[2] + SECOND)
    config = _config(random)
    faults = draw_faults(random, names, () if fixed else _BEGINNING_AGAIN, safety_ns)
    if long is not None:
        faults = (*faults, long_fault(random, long, names))
    if workload == "total":
        faults = (*faults, *draw_dividing(random, names, safety_ns))
    elif workload in ("state", "rejoin"):
        config = replace(config, self_delivery=True)  # or members that read the same would hold different states
        faults = (*faults, *draw_renewals(seed, names, safety_ns))
    options = Options(
        seed,
        count,
        config,
        _link(random),
        random.random() < 0.5,
        fixed,
        _load(random, count, count if config.self_delivery else count - 1, safety_ns),
        faults,
        safety_ns,
        5 * SECOND if fixed else 15 * SECOND,
        workload,
    )
    return options if fixed else _with_lives(replace(options, policy=draw_policy(seed, names)))


def _workload(seed: int) -> str:
    kinds, weights = zip(*_SHARES_OF_ANY.items(), strict=True)
    return str(Random(f"{seed}/workload").choices(kinds, weights)[0])


def narrowed(options: Options, kinds: tuple[str, ...], lengths_ms: tuple[int, ...] = ()) -> Options:
    """The same run with faults of these kinds only, as a seed that happened to draw no others would have it.

    `lengths_ms`: how long they last, if not as long as any.
    """
    random = Random(f"{options.seed}/narrowed")
    count = random.randint(FEWEST_FAULTS, 12)
    faults = tuple(
        draw_fault(random, random.choice(kinds), options.names, options.safety_ns, lengths_ms) for _ in range(count)
    )
    return replace(options, faults=survivable(faults, options.members, options.policy))


def _with_lives(options: Options) -> Options:
    """With those who die, and crashes at named steps. Those who are left send more, so there is as much to judge."""
    policy, seed, safety_ns = options.policy, options.seed, options.safety_ns
    drawn = draw_deaths(seed, options.names, safety_ns)
    deaths = survivable(drawn, options.members, policy)
    steps = draw_step_crashes(seed, options._has_state, safety_ns)
    share = presence(deaths, options.members, safety_ns)
    load = replace(options.load, per_second=options.load.per_second / share) if deaths else options.load
    return replace(options, load=load, faults=(*options.faults, *deaths, *steps))


def _config(random: Random) -> Config:
    return profile(
        "test",
        capacity=random.choice((1, 2, 5, 16, 64, 256)),
        ack_every=random.choice((0, 0, 1, 3)),
        stream_capacity=random.choice((1, 4, 32, 32)),
        frame_bytes=random.choice((700, 1400, 8000)),
        window_bytes=random.choice((2_000, 64_000, 1_000_000)),
        xmit_interval_ns=random.choice((10, 25, 50)) * MS,
        request_ranges=random.choice((1, 4, 128)),
        request_messages=random.choice((16, 64, 4096)),
        heartbeat_ns=random.choice((100, 200)) * MS,
        resumer_ns=random.choice((2_210, 2_500)) * MS,  # the last resort, sometimes hardly behind the others
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


def _load(random: Random, members: int, readers: int, safety_ns: int) -> Load:
    seconds = max(_LONGEST_ORDINARY_NS, safety_ns) / SECOND
    per_second = _DELIVERIES / seconds / (members * max(1, readers)) * random.choice((1.0, 1.0, 2.0))
    large = random.randint(500, 6000)
    sizes = random.choice(((10,), (10, 100), (0, 1, 500), (100, 100, 100, large), (50, 50, 50, large, 50, 50, 20_000)))
    return Load(per_second, sizes, random.choice((0.0, 0.2, 0.5)), random.choice((1, 1, 5, 20)))
