"""What all members of one group must have in common; compared where members meet: at a JOIN, and when a merge asks.

A member with a smaller message limit would drop what others send, one without `merge_state` would have no part in the
merged state, and two policies for partitions cannot both hold. So these are equal, or the meeting is refused. Windows
may differ: the group uses the smallest, which is at least `capacity_floor`.
"""

from __future__ import annotations

from dataclasses import dataclass

from ringcast.model.config import Config


@dataclass(frozen=True, slots=True)
class Terms:
    message_bytes: int
    capacity_floor: int
    primary: bool
    reunites: bool
    quorum: int = 0

    @classmethod
    def of(cls, config: Config, *, primary: bool, reunites: bool, quorum: int = 0) -> Terms:
        return cls(config.max_message_bytes, config.capacity_floor, primary, reunites, quorum)

    def difference(self, other: Terms | None) -> str | None:
        """Ours first, in words; None: they are the same, or the other is from before there were terms."""
        if other is None or other == self:
            return None
        named = [
            ("max_message_bytes", self.message_bytes, other.message_bytes),
            ("capacity_floor", self.capacity_floor, other.capacity_floor),
            ("partition", _policy(self.primary), _policy(other.primary)),
            ("quorum", self.quorum, other.quorum),
            ("merge_state", _hook(self.reunites), _hook(other.reunites)),
        ]
        return ", ".join(f"{name} is {mine}, not {theirs}" for name, mine, theirs in named if mine != theirs)


def _policy(primary: bool) -> str:
    return "'primary'" if primary else "'all'"


def _hook(reunites: bool) -> str:
    return "given" if reunites else "absent"
