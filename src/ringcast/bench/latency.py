"""How long a small message takes there and back between two members, beside a bare asyncio UDP echo in the same run.

By multicast and on a stream between the two (`private_p50_us`), at a rate or in a closed loop. Two situations, each
with its own echo: nothing else going on, with a group of just these two; and while a third member multicasts at half of
what it can. Like is compared with like: the echo under load shares the machine with that load. The members may run on
uvloop; the echo runs on asyncio always. If asked: how long an ordered send takes until it has its place.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from ringcast.bench.echo import measure_echo
from ringcast.lab import Puppet, Stage, free_ports

LOAD_SIZE = 1_000
LOAD_CHUNK = 64
PLACES = 500  # ordered sends that are timed one by one
Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class LatencyShape:
    """What is measured. `private`: the main figures are those of the stream between the two."""

    rate: float = 1_000.0
    size: int = 100
    seconds: float = 5.0
    private: bool = False
    closed_loop: bool = False
    in_order: bool = False
    loop: str = "asyncio"
    key: str | None = None  # a key file: every frame is sealed

    def pings(self, private: bool) -> dict[str, Any]:
        how = {"rate": self.rate, "closed_loop": self.closed_loop}
        return {"seconds": self.seconds, "size": self.size, "private": private, **how, "limit": self.seconds + 120}

    async def echo(self) -> dict[str, Any]:
        return await measure_echo(self.rate, self.seconds, self.size, self.closed_loop)


async def run_latency(shape: LatencyShape, say: Say) -> dict[str, Any]:
    how = "one after the other" if shape.closed_loop else f"{shape.rate:g} per second"
    say(f"round trips of {shape.size} B, {how}, nothing else going on")
    async with _group(shape, ("asks", "answers")) as members:
        result = await _ping(members, shape.pings(shape.private))
        other = await _ping(members, shape.pings(not shape.private))
        result["private_p50_us"] = (result if shape.private else other)["p50_us"]
        if shape.in_order:
            say("ordered sends, until each has its place")
            await members["answers"]("time_places", count=50, size=shape.size)  # the first ones warm up
            places = await members["answers"]("time_places", count=PLACES, size=shape.size)
            result |= {"total_p50_us": places["p50_us"], "total_p99_us": places["p99_us"]}
    say("a bare asyncio UDP echo in the same way")
    result |= _beside(result, await shape.echo())
    say("both again, while another member multicasts 1 kB messages at half of what it can")
    result["half_load"] = await _under_load(shape)
    result["half_load_p50_us"] = result["half_load"]["p50_us"]
    return result


async def _ping(members: dict[str, Puppet], pings: dict[str, Any]) -> dict[str, Any]:
    await members["answers"]("listen", private=pings["private"])
    return await members["asks"]("ping", **pings)


async def _under_load(shape: LatencyShape) -> dict[str, Any]:
    async with _group(shape, ("asks", "answers", "loads")) as members:
        most = await members["loads"]("send", size=LOAD_SIZE, seconds=1.0)
        half = most["sent"] / most["seconds"] / 2
        load = {"size": LOAD_SIZE, "rate": half, "chunk": LOAD_CHUNK, "seconds": 2 * shape.seconds + 1.0}
        loading = members["loads"].begin("send", **load, limit=load["seconds"] + 120)
        result = await _ping(members, shape.pings(shape.private))
        echo = await shape.echo()
        await loading
    return {**result, **_beside(result, echo), "load_messages_per_second": half}


def _beside(ours: dict[str, Any], echo: dict[str, Any]) -> dict[str, Any]:
    return {
        "echo_p50_us": echo["p50_us"],
        "echo_p99_us": echo["p99_us"],
        "times_echo": ours["p50_us"] / echo["p50_us"],
    }


@asynccontextmanager
async def _group(shape: LatencyShape, names: tuple[str, ...]) -> AsyncIterator[dict[str, Puppet]]:
    """Members in processes of their own; `answers` answers."""
    places = {name: f"127.0.0.1:{port}" for name, port in zip(names, free_ports(len(names)), strict=True)}
    async with Stage() as stage:
        for name in names:
            puppet = await stage.start(name, loop=shape.loop)
            await puppet(
                "open", group="latency", me=name, members=places, key=shape.key, config={"self_delivery": False}
            )
        yield stage.puppets
        await stage.everybody("close")
