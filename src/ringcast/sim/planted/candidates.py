"""Mistakes that match the code and can be planted, but that simulated runs do not show yet.

What hides each of them is said beside it: mostly that two other parts of the protocol make up for it.
"""

from __future__ import annotations

from ringcast.sim.planted.planting import Planted

_MEMBERSHIP = "ringcast.core.membership"
_MULTICAST = "ringcast.core.multicast"

CANDIDATES = (
    # Whoever sent above the cut refuses the view ("not at its cut"); the roll call is made again and costs time only.
    Planted(
        "sends are not held while a roll call runs",
        "G5",
        f"{_MULTICAST}.multicast:Multicast.room",
        "if self.standstill is not None:",
        "if False:",
        seeds=60,
    ),
    # Whoever is silent is suspected again and again by the failure detector, until a view without it.
    Planted(
        "suspicions are forgotten with every view",
        "liveness",
        f"{_MEMBERSHIP}.suspicions:Suspicions.on_view",
        "self.members = {m: why for m, why in self.members.items() if m in view and m in suspected}",
        "self.members = {}",
        seeds=60,
    ),
    # A promise ends by its own limit, so those who hold are released a little later.
    Planted(
        "a roll call that fails is not cancelled",
        "G7",
        f"{_MEMBERSHIP}.roll_call:RollCall.cancel",
        "*self._cancels(list(self._asked_ever))",
        "",
        seeds=60,
    ),
    # An ack of one that is not in the view reaches no window in sixty seeds of real groups.
    Planted(
        "an ack from a stranger creates an entry",
        "check",
        f"{_MULTICAST}.multicast:Multicast.on_ack",
        """
        if self.outgoing.acks.get(sender) is None:
            return [Drop("an ack from a stranger", sender)]
        """,
        """
        if self.outgoing.acks.get(sender) is None:
            self.outgoing.acks._acks[sender] = 0
            self.outgoing.acks._find_minimum()
        """,
        seeds=25,
    ),
    # Whoever is silent is suspected again by the failure detector of everybody, and complaints are repeated.
    Planted(
        "a suspicion discarded while suspended is not raised again",
        "liveness",
        f"{_MEMBERSHIP}.membership:Membership._suspect_member",
        """
        self._raise_ns = now_ns + self.config.suspect_repeat_ns
        return out + leading.on_suspects(now_ns) if leading.is_mine else out
        """,
        """
        return out + leading.on_suspects(now_ns) if leading.is_mine and is_new else out
        """,
        seeds=40,
        kinds=("death", "no-control"),
    ),
)
