"""A dictionary that every process holds: all apply the same changes in the same order, newcomers get it whole.

    python examples/shared_dict.py 127.0.0.1:7001
    python examples/shared_dict.py 127.0.0.1:7002 127.0.0.1:7001

Then type `key=value` to set something, or an empty line to see everything.
"""

import asyncio
import json
import sys
from collections.abc import AsyncIterator

import ringcast


class SharedDict:
    def __init__(self) -> None:
        self.data: dict[str, str] = {}

    def get_state(self) -> bytes:
        return json.dumps(self.data).encode()

    async def set_state(self, chunks: AsyncIterator[bytes]) -> None:
        self.data = json.loads(b"".join([chunk async for chunk in chunks]))

    async def follow(self, group: ringcast.Group) -> None:
        async for event in group:
            if isinstance(event, ringcast.Message):
                key, value = json.loads(event.payload)
                self.data[key] = value


async def main(bind: str, *seeds: str) -> None:
    shared = SharedDict()
    place = ringcast.join("dict", bind=bind, seeds=seeds, get_state=shared.get_state, set_state=shared.set_state)
    async with place as group:
        following = asyncio.create_task(shared.follow(group))
        while line := await asyncio.to_thread(sys.stdin.readline):
            key, equals, value = line.strip().partition("=")
            if equals:
                await group.send(json.dumps([key, value]).encode(), order=ringcast.TOTAL)
            else:
                print(json.dumps(shared.data, sort_keys=True), flush=True)
        following.cancel()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
