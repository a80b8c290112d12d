"""A member with three blocks as a process: a dictionary, locks and calls; told what to do by JSON lines.

    python service.py NAME BIND SEED

`{"do": name, …}` is answered by one JSON line when it is done.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from typing import Any

from ringcast import RingcastError, blocks
from ringcast.transport import Endpoint, UdpTransport

data = blocks.ReplicatedDict("data", str, str)
locks = blocks.Locks("locks")


async def pid() -> int:
    return os.getpid()


rpc = blocks.Rpc("calls", pid)


class Service:
    def __init__(self, group: blocks.SharedGroup, transport: UdpTransport) -> None:
        self.group, self.transport = group, transport
        self.holding: asyncio.Task[str] | None = None
        self.token: blocks.Token | None = None

    async def until_view(self, names: list[str]) -> list[str]:
        while sorted(member.name for member in self.group.members) != names:
            await asyncio.sleep(0.02)
        return names

    async def until_keys(self, wanted: dict[str, str]) -> dict[str, str]:
        while not wanted.items() <= dict(data).items():
            await asyncio.sleep(0.02)
        return dict(data)

    async def set(self, key: str, value: str) -> None:
        await data.set(key, value)

    async def swap(self, key: str, new: str) -> bool:
        return await data.compare_and_set(key, blocks.ABSENT, new)

    async def hold(self, key: str) -> list[int]:
        """Begin to hold a lock; answers when it is held."""
        held: asyncio.Future[blocks.Token] = asyncio.get_running_loop().create_future()
        self.holding = asyncio.create_task(self._hold(key, held))
        return list(await held)

    async def _hold(self, key: str, began: asyncio.Future[blocks.Token]) -> str:
        try:
            async with locks(key) as held:
                began.set_result(held.token)
                await asyncio.Event().wait()
                return "never"
        except blocks.LockLost:
            return "lost"

    async def until_lost(self) -> str:
        assert self.holding is not None
        return await self.holding

    async def holder(self, key: str) -> Any:
        found = locks.holder(key)
        return None if found is None else [found[0].name, list(found[1])]

    async def ask_all(self) -> dict[str, int | str]:
        answers = await rpc.of(pid).on_all(timeout=20)()
        return {answer.member.name: answer.value if answer.ok else type(answer.error).__name__ for answer in answers}

    async def block(self, places: list[str]) -> None:
        self.transport.block(Endpoint.parse(place) for place in places)

    async def unblock(self) -> None:
        self.transport.unblock()


async def main(name: str, bind: str, seed: str) -> None:
    transport = UdpTransport(bind)
    async with blocks.join(
        "service", data, locks, rpc, name=name, transport=transport, seeds=[seed], inspect=False, tags={"who": name}
    ) as group:
        service = Service(group, transport)
        print(json.dumps({"ready": name}), flush=True)
        running: set[asyncio.Task[None]] = set()
        while line := await asyncio.to_thread(sys.stdin.readline):
            order = json.loads(line)
            task = asyncio.create_task(answer(service, order))
            running.add(task)
            task.add_done_callback(running.discard)


async def answer(service: Service, order: dict[str, Any]) -> None:
    number, do = order.pop("id"), order.pop("do")
    try:
        found = {"id": number, "gives": await getattr(service, do)(**order)}
    except RingcastError as error:
        found = {"id": number, "error": f"{type(error).__name__}: {error}"}
    print(json.dumps(found), flush=True)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
