"""ringcast: group communication for Python. This is the public face: re-exports only.

    async with ringcast.join("chat", seeds=["10.0.0.1:7001"]) as group:
        await group.send(b"hello")
        async for event in group: ...

What needs sockets is imported when it is first named, so that `import ringcast` stays cheap. `ringcast.sync` has the
same names for scripts and threads; `ringcast.sim`, `ringcast.bus` and `ringcast.transport` are imported by themselves.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ringcast._version import __version__
from ringcast.errors import (
    ConfigError,
    GroupClosed,
    JoinRefused,
    NotMember,
    NotPrimary,
    PeerError,
    PlaceLost,
    RingcastError,
    StateError,
    TransportError,
    UsageError,
    WaitExpired,
    WindowFull,
)
from ringcast.model import (
    Address,
    Batch,
    Config,
    GroupEvent,
    Message,
    Notice,
    Rejoin,
    StatesApart,
    Undelivered,
    View,
    ViewChange,
    ViewId,
    profile,
)
from ringcast.order import TOTAL, Order

if TYPE_CHECKING:
    from ringcast import sync
    from ringcast.runtime import (
        DirectoryDiscovery,
        Discovery,
        DnsDiscovery,
        Group,
        Joining,
        MulticastDiscovery,
        Receipt,
        StaticDiscovery,
        Status,
        Waiting,
        join,
        open_fixed,
    )
    from ringcast.trace import record

__all__ = [
    "TOTAL",
    "Address",
    "Batch",
    "Config",
    "ConfigError",
    "DirectoryDiscovery",
    "Discovery",
    "DnsDiscovery",
    "Group",
    "GroupClosed",
    "GroupEvent",
    "JoinRefused",
    "Joining",
    "Message",
    "MulticastDiscovery",
    "NotMember",
    "NotPrimary",
    "Notice",
    "Order",
    "PeerError",
    "PlaceLost",
    "Receipt",
    "Rejoin",
    "RingcastError",
    "StateError",
    "StatesApart",
    "StaticDiscovery",
    "Status",
    "TransportError",
    "Undelivered",
    "UsageError",
    "View",
    "ViewChange",
    "ViewId",
    "WaitExpired",
    "Waiting",
    "WindowFull",
    "__version__",
    "join",
    "open_fixed",
    "profile",
    "record",
    "sync",
]


def __getattr__(name: str) -> Any:
    if name == "sync":
        return import_module("ringcast.sync")
    if name == "record":
        return import_module("ringcast.trace").record
    if name in __all__:
        return getattr(import_module("ringcast.runtime"), name)
    raise AttributeError(f"module 'ringcast' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*globals(), *__all__]
