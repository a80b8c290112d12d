"""What the recording says of an application's state on its way: where it was cut, and a digest of its bytes (G18).

    provider: cut (get_state is called) … given (all of it is on its way)      joiner: loaded (set_state has returned)

The bytes are counted and hashed where the application gives and gets them, so everything between is judged. Without a
recording nothing is hashed. Not the transfer: that is state_giving.py and state_loading.py.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Literal

from ringcast.model import Address, Event, Kind, ViewId
from ringcast.runtime.driver import Driver

Purpose = Literal["join", "side", "merge"]
Step = Literal["cut", "given", "got", "loaded", "merged"]

DIGEST_BYTES = 8


class StateRecord:
    """One state, cut at this view, between this member and a peer."""

    def __init__(self, driver: Driver, peer: Address | None, view: ViewId, purpose: Purpose) -> None:
        self._driver = driver
        self._peer = peer
        self._view = view
        self._purpose = purpose
        self._nbytes = 0
        self._hash = blake2b(digest_size=DIGEST_BYTES) if driver.is_recorded else None

    def feed(self, part: bytes) -> None:
        if self._hash is not None:
            self._nbytes += len(part)
            self._hash.update(part)

    def note(self, step: Step) -> None:
        if self._hash is None or self._driver.is_closed:
            return
        detail: dict[str, str] = {"step": step, "purpose": self._purpose}
        if step != "cut":
            detail["digest"] = self._hash.hexdigest()
        now_ns = self._driver.now_ns()
        self._driver.note(Event(Kind.STATE, now_ns, self._view, self._peer, value=self._nbytes, detail=detail))
