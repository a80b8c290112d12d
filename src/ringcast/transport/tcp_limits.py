"""Every bound of the TCP transport, in one place."""

from __future__ import annotations

from dataclasses import dataclass, fields

from ringcast.errors import ConfigError
from ringcast.transport.strangers import DEFAULT_LIMITS

MAX_FRAME = 65_536


@dataclass(frozen=True, slots=True)
class TcpLimits:
    """Bytes, counts and seconds. The defaults suit one host and a LAN."""

    queue_bytes: int = 1 << 20  # waiting for one peer's socket; reaching it is "busy"
    reserve_bytes: int = 256 << 10  # beyond it, for `send` only: control passes a queue that is full of data
    read_bytes: int = 256 << 10  # taken from one connection in one read
    reads_per_wake: int = 8
    max_incoming: int = 256  # connections from others than members
    max_strangers: int = DEFAULT_LIMITS.unproved_connections  # of which nothing was taken yet
    max_outgoing: int = 256
    hello_seconds: float = 5.0  # a connection that has not said who it is by then is closed
    connect_seconds: float = 3.0
    stall_seconds: float = 1.0  # a full queue without progress for so long no longer holds the others back
    first_retry_seconds: float = 0.02
    last_retry_seconds: float = 2.0
    idle_seconds: float = 60.0  # a connection to or from a non-peer, unused for so long, is closed

    def __post_init__(self) -> None:
        for spec in fields(self):
            if getattr(self, spec.name) <= 0:
                raise ConfigError(f"{spec.name} must be above 0, not {getattr(self, spec.name)}")
        if self.queue_bytes < MAX_FRAME + 4:
            raise ConfigError(f"queue_bytes must hold one frame ({MAX_FRAME + 4} B), not {self.queue_bytes}")
