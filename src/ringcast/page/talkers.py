"""The service that runs in a simulated world on the page: everybody sends now and then and reads what comes.

Real Groups run it (`ringcast.testing`), so what is seen is what a program would see. How often they send is drawn from
the seed by the world's own loop; a reader can be stopped and let go on, which is what fills the windows.
"""

from __future__ import annotations

import asyncio
from typing import ClassVar

from ringcast.errors import RingcastError
from ringcast.runtime import Group

PAUSE_SECONDS = 0.04
BACK_OFF_SECONDS = 0.25


class Talker:
    """One member's application. `reads` can be switched off: then its senders have to wait."""

    pause: ClassVar[float] = PAUSE_SECONDS

    def __init__(self) -> None:
        self.sent = 0
        self.read = 0
        self.is_reading = True
        self._go_on: asyncio.Event | None = None

    async def run(self, group: Group) -> None:
        self._go_on = asyncio.Event()
        self._go_on.set()
        talking = asyncio.get_running_loop().create_task(self._talk(group))
        try:
            async for _ in group:
                self.read += 1
                if not self.is_reading:
                    await self._go_on.wait()
        finally:
            talking.cancel()

    def stop_reading(self) -> None:
        self.is_reading = False
        if self._go_on is not None:
            self._go_on.clear()

    def go_on_reading(self) -> None:
        self.is_reading = True
        if self._go_on is not None:
            self._go_on.set()

    async def _talk(self, group: Group) -> None:
        while True:
            try:
                await group.send(b"%d of %b" % (self.sent + 1, group.me.name.encode()))
            except RingcastError:
                await asyncio.sleep(BACK_OFF_SECONDS)  # Its place is lost, or its side may not send: try later.
            else:
                self.sent += 1
            await asyncio.sleep(self.pause)
