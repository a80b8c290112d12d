"""What a bus refuses, within the tree of ringcast.errors.

RingcastError
├── UsageError
│   ├── BusFull          policy "raise", and a destination's ring had no room; `queued` messages went out before
│   ├── MessageTooLong   longer than a ring
│   ├── UnknownPeer      nobody of that name is attached
│   ├── NameTaken        a living peer has that name
│   └── Detached         the peer was detached, here or by another thread
├── WaitExpired
│   └── BusWaitExpired   a wait reached its limit; `queued` messages went out before
├── Fenced               the others gave this peer up; attach anew
└── TransportError
    └── BusUnusable      the file is no bus, of another version, or there is no memory for it
        └── NativeMissing    the C part was not built
"""

from ringcast.errors import RingcastError, TransportError, UsageError, WaitExpired


class BusFull(UsageError):
    """A destination's ring had no room, and the policy was to raise."""

    def __init__(self, words: str, queued: int) -> None:
        super().__init__(words)
        self.queued = queued


class MessageTooLong(UsageError):
    """The message does not fit a ring."""


class UnknownPeer(UsageError):
    """Nobody of that name is attached."""


class NameTaken(UsageError):
    """Another living peer has this name."""


class Detached(UsageError):
    """The peer is detached; its methods can no longer be called."""


class BusWaitExpired(WaitExpired):
    """A wait on the bus reached its own limit."""

    def __init__(self, words: str, queued: int = 0) -> None:
        super().__init__(words)
        self.queued = queued


class Fenced(RingcastError):
    """The other peers gave this one up (it stalled or was evicted); what it had not committed is void."""


class BusUnusable(TransportError):
    """The operating system, or the state of the bus file, does not allow it."""


class NativeMissing(BusUnusable):
    """The C part is not there."""
