"""A counter that every member holds, also through a partition: both sides count on, and the merge adds both up.

Four members on this machine, with real sockets; the partition is made by telling their transports whom not to reach.
Each member's share is counted by itself, so of two sides the larger count of each member is right, and `merge_state`
takes that. Run it:

    python examples/merging_counter.py
"""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping

import ringcast
from ringcast.transport import UdpTransport


class Counter:
    def __init__(self) -> None:
        self.counts: dict[str, int] = {}

    @property
    def total(self) -> int:
        return sum(self.counts.values())

    def get_state(self) -> bytes:
        return json.dumps(self.counts).encode()

    async def set_state(self, chunks: AsyncIterator[bytes]) -> None:
        self.counts = json.loads(b"".join([chunk async for chunk in chunks]))

    def merge_state(self, sides: Mapping[tuple[ringcast.Address, ...], bytes]) -> bytes:
        merged: dict[str, int] = {}
        for state in sides.values():
            for name, count in json.loads(state).items():
                merged[name] = max(count, merged.get(name, 0))
        return json.dumps(merged).encode()

    async def run(self, group: ringcast.Group) -> None:
        async for event in group:
            if isinstance(event, ringcast.Message):
                self.counts[event.sender.name] = self.counts.get(event.sender.name, 0) + 1
            elif isinstance(event, ringcast.StatesApart):
                print("the counts stayed apart:", event.why)


async def main() -> None:
    counters = {name: Counter() for name in "ABCD"}
    transports = {name: UdpTransport("127.0.0.1:0") for name in counters}
    groups: dict[str, ringcast.Group] = {}
    readers = []
    for name, counter in counters.items():
        groups[name] = await ringcast.join(
            "votes",
            name=name,
            transport=transports[name],
            seeds=[str(transports["A"].local)] if groups else [],
            inspect=False,
            get_state=counter.get_state,
            set_state=counter.set_state,
            merge_state=counter.merge_state,
        )
        readers.append(asyncio.create_task(counter.run(groups[name])))
    await count(groups, counters, "together", 10, of=4)

    for name, transport in transports.items():
        transport.block(transports[other].local for other in "ABCD" if (other in "AB") != (name in "AB"))
    await until(lambda: all(len(group.members) == 2 for group in groups.values()))
    await count(groups, counters, "cut in two, A B and C D", 100, of=2)

    for transport in transports.values():
        transport.unblock()
    await until(lambda: all(counter.total == 4 * (10 + 100) for counter in counters.values()))
    print("healed:", {name: counter.total for name, counter in counters.items()})
    await asyncio.gather(*(group.leave() for group in groups.values()))
    for reader in readers:
        reader.cancel()


async def count(
    groups: dict[str, ringcast.Group], counters: dict[str, Counter], when: str, times: int, of: int
) -> None:
    """Every member counts so often, and we wait until each has heard it of all in its view."""
    wanted = {name: counter.total + times * of for name, counter in counters.items()}
    for group in groups.values():
        await group.send_many([b"+"] * times)
    await until(lambda: all(counter.total == wanted[name] for name, counter in counters.items()))
    print(f"{when}:", {name: counter.total for name, counter in counters.items()})


async def until(true: Callable[[], bool]) -> None:
    while not true():  # noqa: ASYNC110  an example's way of looking at several members at once
        await asyncio.sleep(0.01)


if __name__ == "__main__":
    asyncio.run(main())
