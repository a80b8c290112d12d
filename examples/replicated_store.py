"""A key-value store that every process holds, also through a partition: both sides go on, and agree again after it.

Each entry carries a version and who wrote it; the greater one wins, in whatever order they come. After a merge the
first member of each side tells the others what its side has. `test_replicated_store.py` tests it against partitions.
"""

import json
from collections.abc import AsyncIterator

import ringcast


class Store:
    def __init__(self) -> None:
        self.entries: dict[str, list[int | str]] = {}  # key -> version, writer, value

    async def run(self, group: ringcast.Group) -> None:
        self.group = group
        async for event in group:
            if isinstance(event, ringcast.Message):
                self.take(json.loads(event.payload))
            elif isinstance(event, ringcast.ViewChange) and any(side[0] == group.me for side in event.view.subgroups):
                await group.send(json.dumps(self.entries).encode())

    async def put(self, key: str, value: str) -> None:
        version = int(self.entries.get(key, [0])[0]) + 1
        await self.group.send(json.dumps({key: [version, self.group.me.name, value]}).encode())

    def take(self, entries: dict[str, list[int | str]]) -> None:
        for key, entry in entries.items():
            self.entries[key] = max(self.entries.get(key, [0, "", ""]), entry)

    def values(self) -> dict[str, int | str]:
        return {key: entry[2] for key, entry in sorted(self.entries.items())}

    def get_state(self) -> bytes:
        return json.dumps(self.entries).encode()

    async def set_state(self, chunks: AsyncIterator[bytes]) -> None:
        self.take(json.loads(b"".join([chunk async for chunk in chunks]) or b"{}"))
