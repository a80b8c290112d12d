"""ringcast: group communication for Python. This is the public face: re-exports only.

    async with ringcast.join("chat", seeds=["10.0.0.1:7001"]) as group:
        await group.send(b"hello")
        async for event in group: ...

Each name is imported when it is first used, so that `import ringcast` costs next to nothing. `ringcast.sync` has the
same names for scripts and threads; `ringcast.sim`, `ringcast.bus` and `ringcast.transport` are imported by themselves.
"""

from __future__ import annotations

from importlib import import_module

from ringcast._version import __version__

TYPE_CHECKING = False  # type checkers take it for True; `typing` itself would be the dearest import here

if TYPE_CHECKING:
    from typing import Any

    from ringcast import sync
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

_ROOMS = ("errors", "model", "order", "trace", "runtime")  # the cheapest to import first

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
    for room in _ROOMS if name in __all__ else ():
        module = import_module(f"ringcast.{room}")
        if hasattr(module, name):
            globals()[name] = getattr(module, name)
            return globals()[name]
    raise AttributeError(f"module 'ringcast' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*globals(), *__all__]
