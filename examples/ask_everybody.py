"""Call a function at every member of a group, and print what each gives. Start it several times.

python examples/ask_everybody.py
"""

import asyncio

from ringcast import DirectoryDiscovery, blocks


async def add(a: int, b: int) -> int:
    return a + b


async def main() -> None:
    async with blocks.join("sums", rpc := blocks.Rpc("sums", add), discovery=DirectoryDiscovery("/tmp/ringcast-sums")):
        print([answer.value for answer in await rpc.of(add).on_all(timeout=5)(1, 2)])


asyncio.run(main())
