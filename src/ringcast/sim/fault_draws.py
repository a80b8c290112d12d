"""Which faults belong to a seed: ordinary ones, and those that ordinary ones hardly ever are.

Deaths, renewals, long faults and crashes at a named step are drawn by sources of their own, so that a seed which draws
none of them is the run that it was without them. Long runs and large groups cost many times what others do, so each
twentieth seed has one of them and no other seed has. Whatever is drawn or made smaller, at least two members are left,
or nothing would be shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
from random import Random

from ringcast.model import MS, SECOND
from ringcast.sim.faults import LASTING_KINDS, LIFE_FAULTS, LINK_CHANGES, MEMBER_FAULTS, PARTITIONS, Fault
from ringcast.sim.policies import Policy
from ringcast.sim.steps import STATE_STEPS, STEP_CRASHES
from ringcast.sim.world import names_of

FEWEST_FAULTS = 5
DEATH = "death"
LEFT = 2  # so many live at the end
_MOST_DEATHS = 2
_LENGTHS_MS = (50, 300, 1000, 1000, 3000, 3000, 9000)  # the last beyond every limit of the test profile
_LASTING_NS = 5 * SECOND
_DIVIDING = ("split", "isolate", "one-way", "flap", "crash")
_WHILE_LOADING = ("crash", "crash", "leave", "freeze", "isolate")
_LARGE_EVERY = 20
ORDINARY_MEMBERS = (2, 7)
LONG_NS = 10 * SECOND  # a fault above this is a long one
_LONG_SECONDS = (12, 20, 35, 60)
# One bad direction, one bad link, a pause, a cut: what lasts in real networks; and now and then anything else.
_LONG_KINDS = ("one-way", "one-way", "loss", "loss", "freeze", "freeze", "isolate", "split", "clock")


# ---- ordinary ones


def draw_faults(random: Random, names: list[str], life: tuple[str, ...], safety_ns: int) -> tuple[Fault, ...]:
    """Some kinds only. A process can end only while it lives, so of those that always begin there are enough."""
    kinds = random.sample(LASTING_KINDS, random.randint(3, len(LASTING_KINDS)))
    ends = random.sample(life, random.randint(0, len(life)))
    drawn = [random.choice(kinds) for _ in range(random.randint(FEWEST_FAULTS, 9))]
    drawn += [random.choice(ends) for _ in range(random.randint(1, 4))] if ends else []
    return tuple(draw_fault(random, kind, names, safety_ns) for kind in drawn)


def draw_dividing(random: Random, names: list[str], safety_ns: int) -> tuple[Fault, ...]:
    """What settles and merges the one order."""
    return tuple(draw_fault(random, kind, names, safety_ns) for kind in random.sample(_DIVIDING, 3))


def draw_fault(random: Random, kind: str, names: list[str], safety_ns: int, lengths_ms: tuple[int, ...] = ()) -> Fault:
    length_ns = random.choice(lengths_ms or _LENGTHS_MS) * MS
    at_ns = random.randint(SECOND // 10, safety_ns - (length_ns if length_ns >= _LASTING_NS else SECOND))
    until_ns = min(safety_ns, at_ns + length_ns)
    return Fault(kind, at_ns, until_ns, _whom(random, kind, names), _amount(random, kind))


def _whom(random: Random, kind: str, names: list[str], *, both: bool = False) -> tuple[str, ...]:
    """`both`: a link that is bad is bad between two members, whoever else there is."""
    shuffled = random.sample(names, len(names))
    if both and kind in LINK_CHANGES:
        return tuple(shuffled[:2])
    if kind == "ring":
        return ()
    if kind in ("split", "bridge", "flap"):
        return tuple(shuffled[: random.randint(1, max(1, len(names) - 1))])
    if kind == "one-way":
        return tuple(shuffled[:2])
    if kind in PARTITIONS or kind in MEMBER_FAULTS or kind in LIFE_FAULTS:
        return tuple(shuffled[:1])
    return tuple(shuffled[: random.choice((0, 1, 2))])


_AMOUNTS: dict[str, tuple[float, ...]] = {
    "loss": (0.1, 0.5, 0.9),
    "duplicate": (0.1, 1.0),
    "reorder": (0.1, 0.9),
    "damage": (0.05, 0.5),
    "delay": (5, 50, 200),
    "jitter": (5, 50),
    "slow-link": (5_000, 100_000),
    "slow-reading": (5, 50, 500),
    "flap": (30, 150, 400),
    "clock": (-500_000, -1000, 1000, 1_000_000),
}


def _amount(random: Random, kind: str) -> float:
    return random.choice(_AMOUNTS[kind]) if kind in _AMOUNTS else 0.0


assert set(LINK_CHANGES) <= set(_AMOUNTS), "every change of a link needs an amount"


# ---- long ones, and many members


def draw_members(seed: int) -> tuple[int, int]:
    """From how many to how many members a seed may have."""
    if seed % _LARGE_EVERY != _LARGE_EVERY - 1:
        return ORDINARY_MEMBERS
    random = Random(f"{seed}/large")
    if random.random() < 0.5:
        return ORDINARY_MEMBERS  # its fault is long instead
    return (16, 40) if random.random() < 0.1 else (8, 15)


def draw_long(seed: int, members: int) -> tuple[str, int, int] | None:
    """Kind, from and until of the long fault that belongs to a seed of ordinary size."""
    if seed % _LARGE_EVERY != _LARGE_EVERY - 1 or members > ORDINARY_MEMBERS[1]:
        return None
    random = Random(f"{seed}/long")
    kind = random.choice((*_LONG_KINDS, random.choice(LASTING_KINDS)))
    at_ns = random.randint(500, 2000) * MS
    return kind, at_ns, at_ns + random.choice(_LONG_SECONDS) * SECOND


def long_fault(random: Random, long: tuple[str, int, int], names: list[str]) -> Fault:
    kind, at_ns, until_ns = long
    return Fault(kind, at_ns, until_ns, _whom(random, kind, names, both=True), _amount(random, kind))


# ---- crashes at a step


def draw_step_crashes(seed: int, has_state: bool, safety_ns: int) -> Iterator[Fault]:
    """Those of states come on top of the others; half of the seeds have none."""
    others = [kind for kind in STEP_CRASHES if kind not in STATE_STEPS]
    yield from _step_crashes(Random(f"{seed}/steps"), others, safety_ns)
    if has_state:
        yield from _step_crashes(Random(f"{seed}/state/steps"), list(STATE_STEPS), safety_ns)


def _step_crashes(random: Random, kinds: list[str], safety_ns: int) -> Iterator[Fault]:
    for _ in range(random.choice((0, 0, 1, 2))):
        at_ns = random.randint(500 * MS, safety_ns - 2 * SECOND)
        until_ns = min(safety_ns, at_ns + random.choice((2, 4)) * SECOND)
        yield Fault(random.choice(kinds), at_ns, until_ns, (), random.choice((0.0, 1.0)))


# ---- renewals


def draw_renewals(seed: int | str, names: list[str], safety_ns: int) -> tuple[Fault, ...]:
    """Processes that crash and come back for the others' state, and trouble for those who are to give it.

    A transfer is short against a run, so faults drawn anywhere hardly ever meet one. Here a joiner's faults come first
    and somebody else's directly behind them: while it loads, others crash, leave, stand still or are cut off.
    """
    random = Random(f"{seed}/renewals")
    return tuple(fault for _ in range(random.choice((2, 3))) for fault in _renewal(random, names, safety_ns))


def _renewal(random: Random, names: list[str], safety_ns: int) -> Iterator[Fault]:
    joiner, *others = random.sample(names, len(names))
    at_ns = random.randint(100 * MS, safety_ns - 4 * SECOND)
    again_ns = at_ns + random.choice((50, 300, 1000)) * MS
    yield Fault("crash", at_ns, again_ns, (joiner,))
    if random.random() < 0.5:
        yield Fault("slow-reading", again_ns, again_ns + 2 * SECOND, (joiner,), random.choice((5.0, 50.0)))
    for other in others[: random.choice((1, 2))]:
        trouble_ns = again_ns + random.randint(10, 800) * MS
        yield Fault(random.choice(_WHILE_LOADING), trouble_ns, trouble_ns + random.choice((300, 1500)) * MS, (other,))


# ---- deaths


def draw_deaths(seed: int | str, names: list[str], safety_ns: int) -> tuple[Fault, ...]:
    """Processes that crash and stay dead, so that the others have to find out, agree and go on by themselves.

    A crash is followed by a new process in the same place, whose JOIN says that the old one is gone; a death by
    nothing, also not at the heal. Half of them come just before the heal, when nobody has had the time to find out.
    """
    random = Random(f"{seed}/deaths")
    count = random.choice((0, 1, _MOST_DEATHS))
    dying = random.sample(names, max(0, min(count, len(names) - LEFT)))
    return tuple(Fault(DEATH, _moment_ns(random, safety_ns), safety_ns, (name,)) for name in dying)


def _moment_ns(random: Random, safety_ns: int) -> int:
    earliest_ns = random.choice((100 * MS, safety_ns - 1000 * MS))
    return random.randint(earliest_ns, safety_ns - 1 * MS)


def survivable(faults: Iterable[Fault], members: int, policy: Policy | None = None) -> tuple[Fault, ...]:
    """These without the deaths that would leave too few, and without a second one of the same member.

    Observers cannot go on alone, so others are left too, and enough of them to be primary if only those go on.
    """
    policy = policy or Policy()
    voters = policy.voters(names_of(members))
    dead: list[tuple[str, ...]] = []
    kept = []
    for fault in faults:
        if fault.kind == DEATH:
            left = [name for name in voters if (name,) not in (*dead, fault.members)]
            if fault.members in dead or len(dead) >= members - LEFT or len(left) < policy.fewest(len(voters)):
                continue
            dead.append(fault.members)
        kept.append(fault)
    return tuple(kept)


def presence(faults: Iterable[Fault], members: int, safety_ns: int) -> float:
    """The share of deliveries that is left of those among members who all live: who is dead neither sends nor reads."""
    ends_ns = sorted(fault.at_ns for fault in faults if fault.kind == DEATH)
    bounds_ns = [0, *ends_ns, safety_ns]
    spans = enumerate(pairwise(bounds_ns))
    weighted = sum((until - since) * ((members - dead) / members) ** 2 for dead, (since, until) in spans)
    return weighted / safety_ns
