"""A member that lost its place comes back by itself, as a new incarnation behind the same Group.

It loses it in two ways: the others went on without it and it asked for `on_exclusion="rejoin"`, or it cannot go on in
its view without a gap (whatever it asked for: a gap is never skipped). Then the old incarnation ends, with its
recording; a new one takes over the transport, is told where the others were, and joins like anybody.
Invariant: incarnations grow. Not merge: a member that keeps its place and comes back by merge never gets here.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Literal

from ringcast.core import Excluded, Left
from ringcast.errors import RingcastError
from ringcast.runtime.driver import Driver, Entry
from ringcast.runtime.group import Group

OnExclusion = Literal["merge", "rejoin"]
Partition = Literal["all", "primary"]

_log = logging.getLogger("ringcast")


class Comeback:
    """Watches over one member's place."""

    def __init__(
        self, group: Group, driver: Driver, entry: Entry, renew: Callable[[], Driver], on_exclusion: OnExclusion
    ) -> None:
        self._group = group
        self._entry = entry
        self._renew = renew
        self._on_exclusion = on_exclusion
        self._is_due = False
        self._watch(driver)

    def _watch(self, driver: Driver) -> None:
        self._driver = driver
        driver.on_lost = lambda why: self._rejoin_soon(why, "lost")
        driver.on_excluded = self._excluded

    def _excluded(self, excluded: Excluded) -> None:
        if self._on_exclusion == "rejoin":
            self._rejoin_soon(f"the others went on without it, in view {excluded.view}", "excluded")

    def _rejoin_soon(self, why: str, how: str) -> None:
        """Not at once: the driver is in the middle of carrying out what its node ordered."""
        if not self._is_due:
            self._is_due = True
            asyncio.get_running_loop().call_soon(self._rejoin, why, how)

    def _rejoin(self, why: str, how: str) -> None:
        self._is_due = False
        old = self._driver
        if self._group._is_going:
            old.on_left(Left(clean=False))  # It wanted to go anyway.
            return
        _log.warning("%s comes back as a new incarnation: %s", old.node.me, why)
        old.retire(how)
        others = [member.endpoint for member in old.node.view.members if member != old.node.me]
        driver = self._renew()
        self._group._come_back(driver, why)
        self._watch(driver)
        driver.keep_first_mark(lambda error: self._begin(driver, others, error))

    def _begin(self, driver: Driver, others: list[str], error: RingcastError | None) -> None:
        """Store first what the incarnation before knew: a member whose disk stores nothing stays out."""
        if driver.is_closed:
            return
        if error is not None:
            driver.on_unkept(error)
            return
        driver.begin()
        driver.execute(driver.node.on_discovered(driver.now_ns(), others))
