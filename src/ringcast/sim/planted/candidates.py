"""Mistakes that match the code and can be planted, but that simulated runs do not show yet.

What hides each of them is said beside it: mostly that two other parts of the protocol make up for it.
"""

from __future__ import annotations

from ringcast.sim.planted.planting import Planted

_MEMBERSHIP = "ringcast.core.membership"
_ORDERING = "ringcast.core.ordering"

CANDIDATES = (
    # Frames of the process before are of its view and its epochs, and are refused for that.
    Planted(
        "a frame for the process before is taken",
        "contents",
        "ringcast.wire.header:read_head",
        "if to not in (EVERYBODY, me):",
        "if False:",
        seeds=60,
    ),
    # Who crashes starts again before the heal, and the new process's JOIN says that the old one is gone; and who is
    # silent in two roll calls is suspected anew.
    Planted(
        "a suspicion is lost while the view changes",
        "liveness",
        f"{_MEMBERSHIP}.suspicions:Suspicions.on_view",
        "self.members = {member: why for member, why in self.members.items() if member in view}",
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
    # What is kept waits for its payload and gets it when the cut ends: it shows only if a sender dies while it is cut
    # off from the one it sent to, and before anybody excludes it.
    Planted(
        "a staged message of a dead sender is kept",
        "liveness",
        f"{_ORDERING}.settlement:plan",
        "if sender not in going:",
        "if True:",
        seeds=60,
    ),
)
