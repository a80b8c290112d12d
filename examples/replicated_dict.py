"""A dictionary that every process holds: the same everywhere, whole for newcomers, one again behind a partition.

Start it several times.

    python examples/replicated_dict.py
"""

import asyncio

import ringcast.blocks


async def main() -> None:
    prices = ringcast.blocks.ReplicatedDict("prices", str, int)
    async with ringcast.blocks.join("shop", prices, discovery=ringcast.DirectoryDiscovery("/tmp/ringcast-shop")):
        await prices.set(f"tea{len(prices)}", 4)
        print(dict(prices))


asyncio.run(main())
