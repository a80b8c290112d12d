"""Mistakes in views, roll calls and merges (seeds 004 and 000), and in who a frame is for."""

from __future__ import annotations

from ringcast.sim.planted.planting import Planted

_MULTICAST = "ringcast.core.multicast"
_MEMBERSHIP = "ringcast.core.membership"

MEMBERSHIP = (
    Planted(
        "a frame for the process before is taken",
        "contents",
        "ringcast.wire.header:read_head",
        "if to not in (EVERYBODY, me):",
        "if False:",
        seeds=60,
    ),
    Planted(
        "an ack from a stranger creates an entry",
        "liveness",
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
        seeds=60,
    ),
    Planted(
        "messages above the cut are delivered",
        "G5",
        f"{_MULTICAST}.standstill:Standstill.fill_to",
        "stream.ceiling = cut",
        "stream.ceiling = max(cut, stream.window.ready)",
        seeds=60,
    ),
    Planted(
        "sends are not held while a roll call runs",
        "G5",
        f"{_MULTICAST}.multicast:Multicast.room",
        "if self.standstill is not None:",
        "if False:",
        seeds=60,
    ),
    Planted(
        "the cut is what everybody has anyway",
        "G5",
        f"{_MEMBERSHIP}.cut:agreed_cut",
        "if reach == cut:",
        "if True:",
        seeds=60,
    ),
    Planted(
        "the Resumer is not armed",
        "G7",
        f"{_MEMBERSHIP}.resumer:Resumer.arm",
        "self.deadline_ns = now_ns + self.limit_ns",
        "self.deadline_ns = None",
        seeds=60,
    ),
    Planted(
        "an offset goes back in a merge",
        "G1",
        f"{_MULTICAST}.group_stream:GroupStream._set_windows",
        "offset > stream.window.ready and",
        "offset != stream.window.ready + 1 and",
        seeds=60,
    ),
    Planted(
        "a window stays behind in a merge",
        "liveness",
        f"{_MULTICAST}.group_stream:GroupStream._set_windows",
        "if stream is None or (offset > stream.window.ready and self._was_apart(view, member)):",
        "if stream is None:",
        seeds=60,
    ),
    Planted(
        "a suspicion is forgotten while the handler is suspended",
        "liveness",
        f"{_MEMBERSHIP}.handler:ViewHandler.on_request",
        'return [_requested(now_ns, request, "told"), TellRollCall(request.member)]',
        "return []",
        seeds=60,
    ),
    Planted(
        "a view is installed without its member",
        "G4",
        f"{_MEMBERSHIP}.follower:Follower.on_view",
        "or self.me not in message.members",
        "",
        seeds=60,
    ),
)
