"""A real group on the page: the members of this user on this machine, watched through the sockets that `status` uses.

Nothing in the group changes: members show what they do, many events made one, a few times a second
(runtime/watching.py). Members on other machines are drawn as far as those here speak of them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from ringcast.errors import RingcastError, UsageError
from ringcast.model import Address, Event
from ringcast.page.log import Log
from ringcast.page.scene import Scene
from ringcast.runtime import as_event, find_members, watch

LOOK_SECONDS = 1.0  # between two looks for new members


class Live:
    """A Source (see source.py). `group`: only members of this group, if given."""

    mode = "live"
    pause = 0.5
    goes_on_alone = True

    def __init__(self, group: str | None = None) -> None:
        self.scene = Scene()
        self.log = Log(keep_traffic=False)
        self.missed = 0
        self._group = group
        self._watching: dict[str, asyncio.Task[None]] = {}
        self._searching: asyncio.Task[None] | None = None
        self._news: list[tuple[Address, Event]] = []
        self._has_news = False

    async def open(self) -> None:
        self._searching = asyncio.get_running_loop().create_task(self._search())

    async def close(self) -> None:
        tasks = [task for task in (self._searching, *self._watching.values()) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _search(self) -> None:
        while True:
            for name, path in (await asyncio.to_thread(find_members, list(self._watching))).items():
                if self._group in (None, name.partition("@")[0]):
                    task = asyncio.get_running_loop().create_task(self._watch(path))
                    self._watching[name] = task
                    task.add_done_callback(partial(self._forget, name))
            await asyncio.sleep(LOOK_SECONDS)

    def _forget(self, name: str, task: asyncio.Task[None]) -> None:
        self._watching.pop(name, None)

    async def _watch(self, path: Path) -> None:
        who: Address | None = None
        try:
            async for line in watch(path):
                before, who = who, Address(*line["member"])
                if before is not None and before != who:
                    self.scene.on_gone(before, "left")
                self._news += [(who, as_event(row)) for row in line["events"]]
                self.missed += line["missed"]
                self.scene.on_time(line["now_ns"])
                self.scene.on_waiting(who, line["waiting"])
                self._has_news = True
        except (RingcastError, ValueError, TypeError, KeyError, IndexError):
            pass  # It is gone, or speaks another version; the search finds it again if it lives.
        if who is not None:
            self.scene.on_gone(who, "ended")
            self._has_news = True

    async def tick(self, seconds: float) -> bool:
        news, self._news = self._news, []
        for who, event in sorted(news, key=lambda item: item[1].t_ns):
            self.scene.on_event(who, event)
            self.log.add(who, -1, event)
        has_news, self._has_news = self._has_news, False
        return has_news

    def about(self) -> dict[str, Any]:
        return {
            "mode": self.mode,
            "title": self._group or "members on this machine",
            "watched": list(self._watching),
            "missed": self.missed,
            "does": [],
        }

    def act(self, what: str, words: Mapping[str, Any]) -> None:
        raise UsageError("the page changes nothing in a real group")
