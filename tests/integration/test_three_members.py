"""Three real processes on loopback exchange 100,000 messages of 1 kB each way; the recordings are judged."""

import asyncio
import socket
from pathlib import Path
from typing import Any

import pytest

from ringcast.checkers import judge
from ringcast.lab import Stage, free_ports
from ringcast.trace import read_run

NAMES = ("A", "B", "C")
COUNT = 100_000


async def exchange(transport: str, record: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Everybody sends COUNT messages in two halves; what each reported after the first half and at the end."""
    kind = socket.SOCK_STREAM if transport == "tcp" else socket.SOCK_DGRAM
    members = {name: f"127.0.0.1:{port}" for name, port in zip(NAMES, free_ports(3, kind), strict=True)}
    async with Stage() as stage:
        for name in NAMES:
            puppet = await stage.start(name)
            await puppet("open", group="g", me=name, members=members, transport=transport, record=str(record))
        first = await half(stage, 1)
        second = await half(stage, 2)
        await stage.everybody("close")
    return first, second


async def half(stage: Stage, number: int) -> dict[str, Any]:
    sends = asyncio.create_task(stage.everybody("send", count=COUNT // 2, size=1000, limit=600))
    reports = await stage.everybody("until_ends", ends=dict.fromkeys(NAMES, number), limit=600)
    await sends
    return reports


@pytest.mark.parametrize("transport", ["udp", "tcp"])
def test_nothing_is_lost_the_checkers_find_nothing_and_memory_is_flat(transport: str, tmp_path: Path) -> None:
    first, second = asyncio.run(exchange(transport, tmp_path))
    for report in second.values():
        for sender in NAMES:
            seen = report["received"][sender]
            assert (seen["messages"], seen["wrong"]) == (COUNT, 0)
    for name in NAMES:
        grown = second[name]["rss_now_megabytes"] - first[name]["rss_now_megabytes"]
        assert grown < 20, f"{name} grew by {grown:.0f} MB while it sent the second half"
    judgement = judge(read_run([tmp_path]))
    assert judgement.verdict == "held", judgement.reasons
    for guarantee in ("G1", "G2", "G3"):
        assert judgement.findings[guarantee].examined > 100, judgement.findings[guarantee]
    assert judgement.dropped_events == 0
