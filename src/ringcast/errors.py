"""The error tree: who broke the rules, and what the caller can do about it.

    RingcastError
    ├── ConfigError          a configuration value is out of its range; raised at construction, nothing was started
    ├── UsageError           the caller broke a rule of the API; no state was touched
    │   ├── NotMember        a message is for somebody who is not in the view, or left it while the send waited; nothing
    │   │                    was taken
    │   └── WindowFull       a send was asked to raise rather than wait, and there was no room; nothing was taken
    ├── GroupClosed          the group was closed or left while (or before) the call waited
    ├── PlaceLost            this member was excluded, or could not go on without a gap, while the call waited; it comes
    │                        back by itself as a new incarnation, under which nothing of the old one is sent
    ├── NotPrimary           this member is on a side that may not go on (`partition="primary"`, or only observers
    │                        are left); nothing was taken, and it comes back by itself to the side that may
    ├── JoinRefused          the group does not take this member: they must have the same `max_message_bytes`,
    │                        `capacity_floor`, `partition` and `merge_state` or none; the message says what differs
    ├── StateError           the state could not be given, or not be loaded; the message says by whom and why
    ├── WaitExpired          a call reached its own limit; the message says what it waited for
    ├── PeerError            a peer broke the protocol (the core itself never raises this; it drops)
    └── TransportError       the network or the operating system refused (busy port, unknown host, no such interface)

What became of the message of a send that raised stands in the error's `sent`. Every message names the values involved.
Anything that is not a RingcastError is a bug of ours.
"""

from __future__ import annotations

from typing import Self


class RingcastError(Exception):
    """Root of everything ringcast raises on purpose.

    `sent` says what became of the message whose send raised this: False, it was not sent and never will be; True, it
    is sent, and only the wait for its place ended; None, that cannot be known. Of a list: how many of its first.
    """

    sent: int | None = False

    def copy(self, *words: str) -> Self:
        """The same error for one more caller, with these words added: each has its own traceback and its own `sent`."""
        error = type(self)("; ".join([str(self), *words]))
        error.sent = self.sent
        return error

    def unknown(self, words: str) -> Self:
        """The same for a caller whose message may have been sent or not."""
        error = self.copy(words)
        error.sent = None
        return error


class ConfigError(RingcastError, ValueError):
    """A configuration value is out of its allowed range."""


class UsageError(RingcastError):
    """The caller broke a rule of the API."""


class NotMember(UsageError):
    """A message was addressed to somebody who is not in the view, or not any more."""


class WindowFull(UsageError):
    """A send with the policy "raise" found no room in the window."""


class GroupClosed(RingcastError):
    """The group is closed; nothing more is sent or received."""


class PlaceLost(RingcastError):
    """This member lost its place in the group; it comes back as a new incarnation."""


class NotPrimary(RingcastError):
    """This member is on a side that may not go on: not the primary one, or with observers only."""


class JoinRefused(RingcastError):
    """The group and this member have not in common what a group must have."""


class StateError(RingcastError):
    """The application's state did not get from its provider to this member."""


class WaitExpired(RingcastError, TimeoutError):
    """A wait reached its own limit."""


class PeerError(RingcastError):
    """A peer broke the protocol."""


class TransportError(RingcastError, OSError):
    """The network or the operating system refused."""
