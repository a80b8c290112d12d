"""A service of three blocks on one group, as real processes: killed, paused, partitioned, and right all the time."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from pathlib import Path
from typing import Any

from ringcast.lab import free_ports

SERVICE = Path(__file__).with_name("service.py")
LIMIT = 90.0  # against hanging for ever


class Member:
    """One process of the service."""

    def __init__(self, name: str, place: str, child: asyncio.subprocess.Process) -> None:
        self.name, self.place, self.child = name, place, child
        self._answers: dict[int, asyncio.Future[Any]] = {}
        self._count = 0
        self.ready: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._listening = asyncio.create_task(self._listen())

    async def _listen(self) -> None:
        assert self.child.stdout is not None
        while line := await self.child.stdout.readline():
            found = json.loads(line)
            future = self.ready if "ready" in found else self._answers.pop(found["id"])
            if "error" in found:
                future.set_exception(AssertionError(f"{self.name}: {found['error']}"))
            else:
                future.set_result(found.get("gives"))

    async def __call__(self, do: str, **order: Any) -> Any:
        return await asyncio.wait_for(self.ask(do, **order), LIMIT)

    def ask(self, do: str, **order: Any) -> asyncio.Future[Any]:
        self._count += 1
        future = self._answers[self._count] = asyncio.get_running_loop().create_future()
        assert self.child.stdin is not None
        self.child.stdin.write(json.dumps({"id": self._count, "do": do, **order}).encode() + b"\n")
        return future

    async def end(self) -> None:
        if self.child.returncode is None:
            self.child.send_signal(signal.SIGCONT)
            self.child.kill()
        await self.child.wait()
        self._listening.cancel()


async def start(name: str, place: str, seed: str) -> Member:
    pipe = asyncio.subprocess.PIPE
    child = await asyncio.create_subprocess_exec(
        sys.executable, str(SERVICE), name, place, seed, stdin=pipe, stdout=pipe
    )
    member = Member(name, place, child)
    await asyncio.wait_for(member.ready, LIMIT)
    return member


async def in_view(members: dict[str, Member], names: str) -> None:
    await asyncio.gather(*(members[name]("until_view", names=list(names)) for name in names))


async def story() -> None:
    places = dict(zip("ABCD", (f"127.0.0.1:{port}" for port in free_ports(4)), strict=True))
    members: dict[str, Member] = {}
    try:
        for name, place in places.items():
            members[name] = await start(name, place, places["A"])
        await in_view(members, "ABCD")
        a, b, c, d = (members[name] for name in "ABCD")

        # One order, one holder, everybody answers.
        assert (
            sum(await asyncio.gather(*(member("swap", key="first", new=member.name) for member in (a, b, c, d)))) == 1
        )
        token = await d("hold", key="k")
        answers = await a("ask_all")
        assert answers == {name: member.child.pid for name, member in members.items()}

        # kill -9: the lock goes on to who waits, a call says gone or does not ask, a newcomer gets everything.
        waiting = a.ask("hold", key="k")
        d.child.kill()
        await in_view(members, "ABC")
        second = await asyncio.wait_for(waiting, LIMIT)
        assert second > token
        await d.end()
        await a("set", key="tea", value="green")
        d = members["D"] = await start("D", places["D"], places["A"])
        await in_view(members, "ABCD")
        assert await d("swap", key="tea", new="never") is False, "D has the state"

        # Paused: the others go on; it loses its lock and has everything when it is back.
        a.child.send_signal(signal.SIGSTOP)
        rest = {name: member for name, member in members.items() if name != "A"}
        await in_view(rest, "BCD")
        third = await b("hold", key="k")
        await b("set", key="tea", value="black")
        a.child.send_signal(signal.SIGCONT)
        assert await a("until_lost") == "lost"
        await in_view(members, "ABCD")
        holder, fourth = await asyncio.wait_for(until_holder(a), LIMIT)
        assert holder == "B" and fourth > third > second

        # A partition: both sides write; the merge makes one of it.
        for member in (a, b):
            await member("block", places=[places["C"], places["D"]])
        for member in (c, d):
            await member("block", places=[places["A"], places["B"]])
        await in_view({"A": a, "B": b}, "AB")
        await in_view({"C": c, "D": d}, "CD")
        await a("set", key="left", value="1")
        await d("set", key="right", value="2")
        for member in (a, b, c, d):
            await member("unblock")
        await in_view(members, "ABCD")
        await a("set", key="after", value="3")
        wanted = {"tea": "black", "left": "1", "right": "2", "after": "3"}
        for member in (a, b, c, d):
            shown = await member("until_keys", wanted=wanted)
            assert shown["first"] in "ABCD"
        assert await c("ask_all") == {name: member.child.pid for name, member in members.items()}
    finally:
        await asyncio.gather(*(member.end() for member in members.values()))


async def until_holder(member: Member) -> tuple[str, list[int]]:
    while (found := await member("holder", key="k")) is None or found[0] != "B":
        await asyncio.sleep(0.05)
    return found[0], found[1]


def test_a_service_of_three_blocks_survives_kill_pause_and_partition() -> None:
    asyncio.run(story())
