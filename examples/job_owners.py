"""A work queue in which every key has one owner at a time, and every job counts once, whatever happens to its worker.

Claims, results and views come in one order at everybody, so all agree who owns a key. A worker that the group lost may
still be at work; its key goes to another one. Therefore a grant has a number, and a result counts only with the number
of the grant that holds now. `test_job_owners.py` tests it.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping

import ringcast

WORK_SECONDS = 0.3


class JobOwners:
    def __init__(self) -> None:
        self.jobs: list[str] = []
        self.owners: dict[str, str] = {}  # key -> its owner, an address
        self.grants: dict[str, int] = {}  # key -> how often it was given to somebody
        self.counted: dict[str, int] = {}  # key -> how many results of it counted; more than one is a disaster

    async def run(self, group: ringcast.Group) -> None:
        self.group = group
        worker = asyncio.create_task(self.work())
        try:
            async for event in group:
                if isinstance(event, ringcast.Message):
                    self.take(str(event.sender), json.loads(event.payload))
                elif isinstance(event, ringcast.ViewChange):
                    self.free(set(map(str, event.view.members)))
        finally:
            worker.cancel()

    # ---- what everybody does alike, in the one order

    def take(self, sender: str, told: dict[str, str | int]) -> None:
        key = str(told["key"])
        if told["do"] == "put":
            self.jobs.append(key)
        elif told["do"] == "claim" and self.is_open(key):
            self.owners[key] = sender
            self.grants[key] = self.grants.get(key, 0) + 1
        elif told["do"] == "done" and self.may_count(key, told["grant"]):
            self.owners.pop(key, None)
            self.counted[key] = self.counted.get(key, 0) + 1

    def may_count(self, key: str, grant: str | int) -> bool:
        return key in self.owners and self.grants[key] == grant

    def is_open(self, key: str) -> bool:
        return key not in self.owners and key not in self.counted

    def free(self, members: set[str]) -> None:
        """A view: keys of those who are gone are for others."""
        self.owners = {key: owner for key, owner in self.owners.items() if owner in members}

    # ---- what each worker does

    async def put(self, key: str) -> None:
        await self.tell(do="put", key=key)

    async def work(self) -> None:
        while True:
            try:
                await self.work_once()
            except ringcast.RingcastError:  # cut off, or on the way back: what we did may count or not
                await asyncio.sleep(WORK_SECONDS)

    async def work_once(self) -> None:
        key = next(filter(self.is_open, self.jobs), None)
        if key is None:
            await asyncio.sleep(0.05)
            return
        await self.tell(do="claim", key=key)
        await asyncio.sleep(0.02)  # until the claim has come back to ourselves, or not in time: then we look again
        grant = self.grants.get(key, 0)
        if self.owners.get(key) == str(self.group.me):
            await asyncio.sleep(WORK_SECONDS)  # the work
            await self.tell(do="done", key=key, grant=grant)

    async def tell(self, **told: str | int) -> None:
        await self.group.send(json.dumps(told).encode(), order=ringcast.TOTAL)

    # ---- the state of a joiner

    def get_state(self) -> bytes:
        return json.dumps([self.jobs, self.owners, self.grants, self.counted]).encode()

    async def set_state(self, chunks: AsyncIterator[bytes]) -> None:
        state = b"".join([chunk async for chunk in chunks])
        if state:
            self.jobs, self.owners, self.grants, self.counted = json.loads(state)

    def merge_state(self, sides: Mapping[tuple[ringcast.Address, ...], bytes]) -> bytes:
        """No side had a majority, each settled what was under way: what counted anywhere counts, claims are void."""
        jobs: dict[str, None] = {}
        grants: dict[str, int] = {}
        counted: dict[str, int] = {}
        for state in sides.values():
            put, _, given, done = json.loads(state)
            jobs |= dict.fromkeys(put)
            grants |= {key: max(number, grants.get(key, 0)) for key, number in given.items()}
            counted |= done
        return json.dumps([list(jobs), {}, grants, counted]).encode()
