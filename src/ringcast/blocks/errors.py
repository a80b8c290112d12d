"""What blocks raise on purpose, beside the errors of the group itself.

RingcastError
└── BlockError
    ├── RemoteError    a handler raised at another member: `kind` and `text` say what, `member` says where
    ├── Gone           a member left before it answered: whether its handler ran cannot be known
    ├── Apart          the two sides of a merge could not become one here: writes are refused until `replace`
    ├── StaleToken     the write carries a fencing token that is older than one seen before; nothing was written
    ├── LockLost       this member does not hold the lock any more: the other side of a merge does, or its side
    │                  may not go on
    └── ChangesLost    a change feed was read too slowly: more keys changed than it keeps
"""

from __future__ import annotations

from typing import Self

from ringcast import Address, RingcastError


class BlockError(RingcastError):
    """Root of what blocks raise."""


class RemoteError(BlockError):
    """A handler raised at another member."""

    def __init__(self, member: Address, kind: str, text: str) -> None:
        super().__init__(f"{member} raised {kind}: {text}")
        self.member = member
        self.kind = kind
        self.text = text

    def copy(self, *words: str) -> Self:
        return type(self)(self.member, self.kind, "; ".join([self.text, *words]))


class Gone(BlockError):
    """A member left before it answered, or joined and had no state yet when it was asked."""

    def __init__(self, member: Address, how: str = "is gone") -> None:
        super().__init__(f"{member} {how} and has not answered; whether its handler ran cannot be known")
        self.member = member
        self._how = how

    def copy(self, *words: str) -> Self:
        return type(self)(self.member, self._how)


class Apart(BlockError):
    """The sides of a merge could not become one."""


class StaleToken(BlockError):
    """An older fencing token than one that was seen before."""


class LockLost(BlockError):
    """This member does not hold the lock any more."""


class ChangesLost(BlockError):
    """A change feed was read too slowly."""
