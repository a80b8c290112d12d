"""Applications for the tests of worlds: a right one, and one that forgets that a partition has two sides."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from typing import Any

from ringcast import TOTAL, Address, Group, Message, ViewChange


class Log:
    """Keeps everything it reads, in order."""

    def __init__(self) -> None:
        self.read: list[bytes] = []
        self.views: list[int] = []
        self.ended = ""

    async def run(self, group: Group) -> None:
        self.group = group
        try:
            async for event in group:
                if isinstance(event, Message):
                    self.read.append(event.payload)
                elif isinstance(event, ViewChange):
                    self.views.append(len(event.view.members))
        finally:
            self.ended = "tidied up"

    async def say(self, text: str, **options: Any) -> None:
        await self.group.send(text.encode(), **options)

    async def say_in_order(self, text: str) -> None:
        await self.group.send(text.encode(), order=TOTAL)


class Forgetful:
    """A replicated dictionary that does nothing about merges."""

    def __init__(self) -> None:
        self.data: dict[str, str] = {}

    async def run(self, group: Group) -> None:
        self.group = group
        async for event in group:
            if isinstance(event, Message):
                key, value = json.loads(event.payload)
                self.data[key] = value

    async def put(self, key: str, value: str) -> None:
        await self.group.send(json.dumps([key, value]).encode(), order=TOTAL)


class Words(Log):
    """Holds a set of words; after a partition the sides' sets become one."""

    def __init__(self) -> None:
        super().__init__()
        self.before: list[str] = []

    @property
    def words(self) -> list[str]:
        return sorted({*self.before, *(payload.decode() for payload in self.read)})

    def get_state(self) -> bytes:
        return json.dumps(self.words).encode()

    async def set_state(self, chunks: AsyncIterator[bytes]) -> None:
        self.before = json.loads(b"".join([chunk async for chunk in chunks]) or b"[]")
        self.read.clear()

    def merge_state(self, sides: Mapping[tuple[Address, ...], bytes]) -> bytes:
        return json.dumps(sorted({word for state in sides.values() for word in json.loads(state)})).encode()


async def spin(group: Group) -> None:
    while True:
        await asyncio.sleep(0)


async def fail(group: Group) -> None:
    await asyncio.sleep(1)
    raise ValueError("no such key")
