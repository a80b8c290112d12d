"""Mistakes in merges (seed 000), and in keeping merges and view changes apart (seed 004)."""

from __future__ import annotations

from ringcast.sim.planted.planting import Planted
from ringcast.sim.policies import Policy

_MULTICAST = "ringcast.core.multicast"
_MEMBERSHIP = "ringcast.core.membership"
_MERGE = "ringcast.core.merge"

MERGE = (
    Planted(
        "a coordinator speaks for its members in a merge",
        "G8",
        f"{_MERGE}.participant:MergeParticipant.on_roll_call_ended",
        "said = {m: told[m] for m in merge.members if m in told and told[m].origin == m}",
        "said = {m: Told(self.me, told[m].entry) for m in merge.members if m in told}",
        seeds=5,
    ),
    Planted(
        "the own entry is overwritten in a merge",
        "G10",
        f"{_MULTICAST}.multicast:Multicast._set_windows",
        "if member == self.me:",
        "if member == self.me and not view.is_merge:",
        seeds=5,
    ),
    Planted(
        "a merge repeats the last message",
        "G10",
        f"{_MULTICAST}.multicast:Multicast._set_windows",
        "offset = offsets.get(member, 0)",
        "offset = max(0, offsets.get(member, 0) - view.is_merge)",
        seeds=5,
    ),
    Planted(
        "a merge loses the entries of the other subgroups",  # Members refuse such a view, so the sides never meet.
        "liveness",
        f"{_MEMBERSHIP}.view_change:ViewChange.compose_merged",
        "tuple(digest[member] for member in view.members)",
        "tuple(complete.entries.get(member, Entry(0, 0, 0)) for member in view.members)",
        seeds=5,
    ),
    Planted(
        "a merge starts during a view change",
        "G6",
        f"{_MEMBERSHIP}.handler:ViewHandler.refusal",
        "phase = self._phase_for_merge(now_ns)",
        """
        if self.phase is Phase.CHANGING:
            self.suspension = None
        phase = self._phase_for_merge(now_ns)
        """,
        seeds=30,
        kinds=("mute", "deaf", "no-control"),
        lengths_ms=(300, 1000),
    ),
    Planted(
        "each side of a merge keeps its own window bytes",
        "G4",
        f"{_MEMBERSHIP}.view_change:ViewChange.compose_merged",
        "view.window_bytes,",
        "complete.window_bytes,",
        seeds=5,
        kinds=("split", "isolate"),
        policy=Policy(own_configs=True),
    ),
    Planted(
        "a party's entries are one too high, under their members' names",
        "G8",
        f"{_MERGE}.participant:MergeParticipant.on_roll_call_ended",
        "tuple(t.entry for t in said.values())",
        "tuple(t.entry._replace(delivered=t.entry.delivered + 1) for t in said.values())",
        seeds=5,
        kinds=("split", "isolate"),
    ),
    Planted(
        "a member answers a merge in its coordinator's place",
        "G6",
        "ringcast.core.merging:Merging._on_merge_req",
        "if why is None and coordinator != self.me:",
        "if False:",
        seeds=20,
        kinds=("deaf", "one-way", "no-heartbeats"),
    ),
    Planted(
        "who is suspected keeps the others from merging",
        "liveness",
        f"{_MEMBERSHIP}.coordinator:Coordinator.call_for_merge",
        "if member not in members or member in suspects",
        "if member not in members",
        seeds=30,
        kinds=("crash", "isolate", "death"),
        policy=Policy(observers=2),
    ),
)
