"""Mistakes in views and roll calls (seed 004)."""

from __future__ import annotations

from ringcast.sim.planted.planting import Planted

_MULTICAST = "ringcast.core.multicast"
_MEMBERSHIP = "ringcast.core.membership"

MEMBERSHIP = (
    Planted(
        "the Resumer is not armed",
        "G7",
        f"{_MEMBERSHIP}.suspension:Resumer.arm",
        "self.timer.at_ns = now_ns + self.limit_ns",
        "self.timer.at_ns = None",
        seeds=2,
    ),
    Planted(
        "a view is named after who led before",
        "G4",
        f"{_MEMBERSHIP}.view_change:ViewChange.compose",
        "view_id = self.roll_call.next_id",
        "view_id = self.roll_call.next_id._replace(creator=self.roll_call.base.members[0])",
        seeds=5,
    ),
    Planted(
        "who is gone still counts for the window",
        "check",
        f"{_MULTICAST}.stream:Outgoing.set_receivers",
        "self.acks.set_members(receivers)",
        "self.acks.set_members({**dict.fromkeys(self.acks._acks, 0), **receivers})",
        seeds=5,
    ),
    Planted(
        "a joiner begins at zero",
        "G1",
        f"{_MULTICAST}.multicast:Multicast._set_windows",
        "offset = offsets.get(member, 0)",
        "offset = 0",
        seeds=5,
    ),
    Planted(
        "a view waits behind a full window",
        "G14",
        "ringcast.core.coordination:Coordination.install",
        "previous, view = self.view, message.view",
        """
        if self._node.has_group and not self._node.group.outgoing.window.space.takes(1, 0):
            return []
        previous, view = self.view, message.view
        """,
        seeds=30,
    ),
    Planted(
        "a sender takes one message more than was agreed with the view",
        "G2",
        f"{_MULTICAST}.multicast:Multicast._set_receivers",
        "self.outgoing.window.resize(self.capacity)",
        "self.outgoing.window.resize(self.capacity + 1)",
        seeds=20,
    ),
    Planted(
        "a frame for the process before is taken",
        "G3",
        "ringcast.wire.header:read_head",
        "if to not in (EVERYBODY, me):",
        "if False:",
        seeds=10,
        kinds=("crash", "leave"),
        lengths_ms=(50, 300),
    ),
    Planted(
        "the view handler goes on before the view has reached anybody",
        "G6",
        f"{_MEMBERSHIP}.view_change:Spreading.end_if_shown",
        "[] if self._unacked else ",
        "",
        seeds=5,
    ),
    Planted(
        "who leaves is kept in the view",
        "views",
        f"{_MEMBERSHIP}.coordinator:Coordinator.start",
        "leaving=tuple(leaving)",
        "leaving=()",
        seeds=10,
        kinds=("leave",),
    ),
    Planted(
        "a joiner asks once",
        "liveness",
        f"{_MEMBERSHIP}.joining:Joiner._ask",
        "self._again.at_ns = now_ns + self._pause(self.config.join_retry_ns)",
        "self._again.at_ns = None",
        seeds=30,
        kinds=("crash", "leave", "loss"),
    ),
)
