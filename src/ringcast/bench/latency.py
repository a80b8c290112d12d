"""How long a small message takes there and back between two members, beside a bare asyncio UDP echo in the same run.

Three measurements: the idle group, the group while a third member multicasts at half of what it can, and the echo.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from ringcast.bench.echo import measure_echo
from ringcast.lab import Puppet, Stage, free_ports

NAMES = ("asks", "answers", "loads")
LOAD_SIZE = 1_000
LOAD_CHUNK = 64


async def run_latency(
    rate: float, size: int, seconds: float, private: bool, say: Callable[[str], None]
) -> dict[str, Any]:
    members = {name: f"127.0.0.1:{port}" for name, port in zip(NAMES, free_ports(3), strict=True)}
    async with Stage() as stage:
        asks, answers, loads = [await _member(stage, name, members) for name in NAMES]
        await answers("listen", private=private)
        say(f"round trips of {size} B at {rate:g} per second, nothing else going on")
        result = await asks("ping", rate=rate, seconds=seconds, size=size, private=private)
        say("the same while another member multicasts 1 kB messages at half of what it can")
        most = await loads("send", size=LOAD_SIZE, seconds=1.0)
        half = most["sent"] / most["seconds"] / 2
        loading = asyncio.create_task(
            loads("send", size=LOAD_SIZE, seconds=seconds + 0.5, rate=half, chunk=LOAD_CHUNK, limit=seconds + 120)
        )
        result["half_load"] = await asks("ping", rate=rate, seconds=seconds, size=size, private=private)
        result["half_load"]["load_messages_per_second"] = half
        await loading
        await stage.everybody("close")
    say("a bare asyncio UDP echo at the same rate")
    echo = await measure_echo(rate, seconds, size)
    result["echo_p50_us"], result["echo_p99_us"] = echo["p50_us"], echo["p99_us"]
    result["times_echo"] = result["p50_us"] / echo["p50_us"]
    return result


async def _member(stage: Stage, name: str, members: dict[str, str]) -> Puppet:
    puppet = await stage.start(name)
    await puppet("open", group="latency", me=name, members=members, config={"self_delivery": False})
    return puppet
