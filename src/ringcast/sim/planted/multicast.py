"""Mistakes in windows, acks, repair and streams (seed 003)."""

from __future__ import annotations

from ringcast.sim.planted.planting import Planted

_CORE = "ringcast.core.multicast"

MULTICAST = (
    Planted(
        "purge without the silent member",
        "G3",
        f"{_CORE}.stream:Outgoing.on_ack",
        """
        if not self.acks.on_ack(who, min(upto, self.window.high)):
            return 0
        return self.window.purge(self.acks.minimum)
        """,
        """
        self.acks.on_ack(who, min(upto, self.window.high))
        return self.window.purge(min((upto for upto in self.acks._acks.values() if upto), default=0))
        """,
        seeds=5,
        fixed=True,
    ),
    Planted(
        "a repair holds its neighbour's content",
        "G1",
        f"{_CORE}.stream:Outgoing.on_request",
        "self.window.get_run(begin, end)",
        "self.window.get_run(begin, end)[::-1]",
        seeds=10,
        fixed=True,
    ),
    Planted(
        "the tail is never announced",
        "liveness",
        f"{_CORE}.stream:Outgoing.on_interval",
        "if self.owes_low if low == high else idle:",
        "if self.owes_low and low == high:",
        seeds=10,
        fixed=True,
    ),
    Planted(
        "a lost last ack is not repeated",
        "liveness",
        f"{_CORE}.stream:Incoming.on_highest",
        "return self.ack() if highest.high > highest.low else None",
        "return None",
        seeds=20,
        fixed=True,
    ),
    Planted(
        "one message more than the window has slots",
        "check",
        "ringcast.window.send:Space.takes",
        "count <= self.slots",
        "count <= self.slots + 1",
        seeds=20,
        fixed=True,
    ),
    Planted(
        "the seqno is taken before there is room",
        "check",
        "ringcast.core.node:Node.space",
        "return self._group.space() if self._group is not None and self._may_send else NO_SPACE",
        """
        space = self._group.space() if self._group is not None and self._may_send else NO_SPACE
        if not space.slots and self.has_group and not self.group.standstill:
            self.group.outgoing.window.high += 1
        return space
        """,
        seeds=10,
        fixed=True,
    ),
    Planted(
        "a message is handed out twice",
        "check",
        "ringcast.window.receive:ReceiveWindow.take_ready",
        "self.handed = last",
        "self.handed = last if last % 7 else last - 1",
        seeds=10,
        fixed=True,
    ),
    Planted(
        "every request is answered, however often",
        "storm",
        f"{_CORE}.stream:Outgoing.on_request",
        "done = self._answered.setdefault(who, Ranges())",
        "done = Ranges()",
        seeds=20,
        fixed=True,
    ),
    Planted(
        "a stream to a dead process is never given up",
        "liveness",
        f"{_CORE}.outside_streams:GivingUp._end",
        "self._streams.outgoing.pop(peer, None)",
        "self._streams.outgoing.get(peer)",
        seeds=30,
    ),
    Planted(
        "what a member that is gone had not acked is not named to its sender",
        "G16",
        f"{_CORE}.outside_streams:GivingUp._end",
        "return [event, Undelivered(peer, sent - count + 1, count), Freed()] if count else [event, Freed()]",
        "return [Freed()]",
        seeds=5,
        kinds=("leave", "death", "isolate"),
    ),
)
