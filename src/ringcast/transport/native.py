"""The native part of this room, where it was built; RINGCAST_NATIVE=off does without it."""

from __future__ import annotations

import os
from types import ModuleType


def _datagrams() -> ModuleType | None:
    if os.environ.get("RINGCAST_NATIVE") == "off":
        return None
    try:
        from ringcast.native import _datagrams
    except ImportError:
        return None
    return _datagrams


datagrams = _datagrams()
