"""What a group is made of besides its config: observers, who may go on after a partition, whose config differs.

Drawn by sources of their own, so that a seed which draws none of it is the run that it was without this. Primary views
hold across restarts with a mark file or a fixed quorum only (G17), so one of the two is always drawn with them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from ringcast.sim.process import Partition

_PRIMARY_SHARE = 0.25
_OBSERVER_SHARE = 0.25
_OWN_CONFIG_SHARE = 0.3
_EXPECT_SHARE = 0.3
FEWEST_VOTERS = 2


@dataclass(frozen=True, slots=True)
class Policy:
    """`observers`: so many of the last names. `quorum`: 0 = none. `own_configs`: every member has one of its own.

    `expects`: a process that starts again is told, as at the beginning, how many to expect.
    """

    observers: int = 0
    partition: Partition = "all"
    has_marks: bool = False
    quorum: int = 0
    own_configs: bool = False
    expects: bool = False

    def of(self, members: int) -> Policy:
        """The same for fewer members, where it still has a meaning."""
        voters = max(FEWEST_VOTERS, members - self.observers)
        observers = max(0, members - voters)
        quorum = min(self.quorum, majority(members - observers)) if self.quorum else 0
        return Policy(observers, self.partition, self.has_marks, quorum, self.own_configs, self.expects)

    def fewest(self, voters: int) -> int:
        """So many of the voters must live for the group to go on."""
        return (self.quorum or majority(voters)) if self.partition == "primary" else 1

    def voters(self, names: list[str]) -> list[str]:
        return names[: len(names) - self.observers]

    def observers_of(self, names: list[str]) -> list[str]:
        return names[len(names) - self.observers :]

    def words(self) -> Iterator[str]:
        """What was drawn, a word each."""
        if self.observers:
            yield "observers"
        if self.partition == "primary":
            yield "primary with a quorum" if self.quorum else "primary with mark files"
        if self.own_configs:
            yield "a config per member"
        if self.expects:
            yield "expect on restart"


def draw_policy(seed: int | str, names: list[str]) -> Policy:
    random = Random(f"{seed}/policy")
    most = len(names) - FEWEST_VOTERS
    observers = random.randint(1, most) if random.random() < _OBSERVER_SHARE and most > 0 else 0
    is_primary = random.random() < _PRIMARY_SHARE
    quorum = majority(len(names) - observers) if is_primary and random.random() < 0.4 else 0
    return Policy(
        observers,
        "primary" if is_primary else "all",
        is_primary and not quorum,
        quorum,
        random.random() < _OWN_CONFIG_SHARE,
        random.random() < _EXPECT_SHARE,
    )


def majority(voters: int) -> int:
    return voters // 2 + 1
