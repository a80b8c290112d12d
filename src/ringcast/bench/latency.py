"""How long a small message takes there and back between two members, beside a bare asyncio UDP echo in the same run.

Two situations, each with its own echo: nothing else going on, with a group of just these two; and while a third member
multicasts at half of what it can. Like is compared with like: the echo under load shares the machine with that load.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from ringcast.bench.echo import measure_echo
from ringcast.lab import Puppet, Stage, free_ports

LOAD_SIZE = 1_000
LOAD_CHUNK = 64
Say = Callable[[str], None]


async def run_latency(rate: float, size: int, seconds: float, private: bool, say: Say) -> dict[str, Any]:
    pings = {"rate": rate, "seconds": seconds, "size": size, "private": private}
    say(f"round trips of {size} B at {rate:g} per second, nothing else going on")
    async with _group(("asks", "answers"), private) as members:
        result = await members["asks"]("ping", **pings)
    say("a bare asyncio UDP echo at the same rate")
    result |= _beside(result, await measure_echo(rate, seconds, size))
    say("both again, while another member multicasts 1 kB messages at half of what it can")
    result["half_load"] = await _under_load(pings)
    return result


async def _under_load(pings: dict[str, Any]) -> dict[str, Any]:
    async with _group(("asks", "answers", "loads"), pings["private"]) as members:
        most = await members["loads"]("send", size=LOAD_SIZE, seconds=1.0)
        half = most["sent"] / most["seconds"] / 2
        load = {"size": LOAD_SIZE, "rate": half, "chunk": LOAD_CHUNK, "seconds": 2 * pings["seconds"] + 1.0}
        loading = asyncio.create_task(members["loads"]("send", **load, limit=load["seconds"] + 120))
        result = await members["asks"]("ping", **pings)
        echo = await measure_echo(pings["rate"], pings["seconds"], pings["size"])
        await loading
    return {**result, **_beside(result, echo), "load_messages_per_second": half}


def _beside(ours: dict[str, Any], echo: dict[str, Any]) -> dict[str, Any]:
    return {
        "echo_p50_us": echo["p50_us"],
        "echo_p99_us": echo["p99_us"],
        "times_echo": ours["p50_us"] / echo["p50_us"],
    }


@asynccontextmanager
async def _group(names: tuple[str, ...], private: bool) -> AsyncIterator[dict[str, Puppet]]:
    """Members in processes of their own; `answers` answers."""
    places = {name: f"127.0.0.1:{port}" for name, port in zip(names, free_ports(len(names)), strict=True)}
    async with Stage() as stage:
        for name in names:
            puppet = await stage.start(name)
            await puppet("open", group="latency", me=name, members=places, config={"self_delivery": False})
        await stage.puppets["answers"]("listen", private=private)
        yield stage.puppets
        await stage.everybody("close")
