"""What went through a transport and what did not.

Invariant: every frame that `send` or `cast` accepted is counted once per destination packet, as sent or as lost with a
reason; every frame thrown away on arrival is counted as lost too. Nothing is dropped in silence.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

CLOSED = "transport closed"
CUT_IN = "cut from sender"
CUT_OUT = "cut to receiver"
NETWORK_REFUSED = "refused by the network"
TOO_BIG_FOR_PATH = "larger than the path carries"
PEER_DOWN = "no connection to peer"
PEER_STALLED = "peer takes nothing"
NO_SUCH_PEER = "nobody at that endpoint"
BAD_STREAM = "stream broke the framing"
NO_CERTIFICATE = "a connection without a certificate of the authority"
NOT_ITS_NAME = "sent in the name of somebody else than the certificate's"
NOT_EXPECTED = "the certificate of somebody else than the member at that endpoint"
TOO_MANY_CONNECTIONS = "too many connections"
TOO_MANY_HANDSHAKES = "too many handshakes of hosts that are not members'"
NOBODY_TOOK = "a stream of frames that nobody took"
QUEUE_FULL = "receive queue full"


@dataclass(slots=True)
class Counters:
    """Plain numbers since `open`; `busy` counts refusals that the caller was told of."""

    frames_in: int = 0
    bytes_in: int = 0
    frames_out: int = 0
    bytes_out: int = 0
    wakes: int = 0
    busy: int = 0
    connects: int = 0
    frames_aside: int = 0  # sent by `send_aside`; the only figure that another thread than the loop's writes
    lost: dict[str, int] = field(default_factory=dict)

    def lose(self, why: str, frames: int = 1) -> None:
        self.lost[why] = self.lost.get(why, 0) + frames

    @property
    def frames_lost(self) -> int:
        return sum(self.lost.values())

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)
