"""Deaths: processes that crash and stay dead, so that the others have to find out, agree and go on by themselves.

A crash is followed by a new process in the same place, whose JOIN says that the old one is gone; a death by nothing,
also not at the heal. Whatever is drawn or made smaller, at least two members are left, or nothing would be shown.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from random import Random

from ringcast.model import MS
from ringcast.sim.faults import Fault
from ringcast.sim.policies import Policy
from ringcast.sim.world import names_of

DEATH = "death"
LEFT = 2  # so many live at the end
_MOST = 2


def draw_deaths(seed: int | str, names: list[str], safety_ns: int) -> tuple[Fault, ...]:
    """The deaths that belong to a seed, by a source of their own: a seed without any is what it is without this.

    Half of them come just before the heal, when nobody has had the time to find out.
    """
    random = Random(f"{seed}/deaths")
    count = random.choice((0, 1, _MOST))
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
