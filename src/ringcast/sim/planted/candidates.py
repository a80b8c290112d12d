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
        f"{_MULTICAST}.multicast:Multicast.space",
        "if self.standstill is not None or space.nbytes <= 0:",
        "if space.nbytes <= 0:",
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
        if sender not in self.view.ranks:
            return [Drop("an ack from a stranger", sender)]
        """,
        """
        if sender not in self.view.ranks:
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
        self._raise.at_ns = now_ns + self.config.suspect_repeat_ns
        return out + leading.on_suspects(now_ns) if leading.is_mine else out
        """,
        """
        return out + leading.on_suspects(now_ns) if leading.is_mine and is_new else out
        """,
        seeds=40,
        kinds=("death", "no-control"),
    ),
    # The others find out as after a crash, and what it had not sent nobody delivers.
    Planted(
        "a leaver goes before anybody has confirmed it",
        "G14",
        f"{_MEMBERSHIP}.leaving:Leaver.is_over",
        "self._limit.is_due(now_ns)",
        "True",
        seeds=6,
        kinds=("leave",),
    ),
    # The next roll call replaces the promise long before its limit, unless a fault holds.
    Planted(
        "a cancel is not heard",
        "G7",
        f"{_MEMBERSHIP}.follower:Follower.on_cancel",
        "if promise is None or promise.asker != asker or promise.id > cancel.id:",
        "if True:",
        seeds=6,
    ),
    # The view that settles it, and a merge, make it good before anybody is excluded for nothing.
    Planted(
        "a suspicion is never withdrawn",
        "G14",
        f"{_MEMBERSHIP}.suspicions:Suspicions.withdraw",
        "if member not in self.final:",
        "if False:",
        seeds=6,
        kinds=("freeze", "jitter", "delay"),
    ),
    # Ordinary faults are too short for so many returns; `make link-runs` counts the views of a bad minute.
    Planted(
        "who has a bad link is taken back at once, again and again",
        "views",
        "ringcast.core.failure.readmission:Readmission.wait_ns",
        "return max(0, held.since_ns + longest_ns - now_ns)",
        "return 0",
        seeds=6,
        kinds=("one-way", "one-way", "deaf"),
    ),
)
