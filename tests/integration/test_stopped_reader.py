"""A receiver stops reading for five seconds: the sender waits within its bounds, then everything goes on."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

import pytest

from ringcast.lab import Stage, free_ports
from ringcast.lab.stage import Puppet
from ringcast.transport.datagram_reader import READS_PER_WAKE

NAMES = ("A", "B", "C")
COUNT = 60_000
SIZE = 1_000
WINDOW_BYTES = 4 << 20
FRAME_BYTES = 64_000
IN_HAND_BYTES = (
    READS_PER_WAKE * FRAME_BYTES
)  # the batch that B had taken when it stopped: at most one wake of its socket
STOPPED_SECONDS = 5  # the story itself, not a way to wait for something


async def until_it_waits(sender: Puppet) -> list[dict[str, Any]]:
    while True:
        waiting: list[dict[str, Any]] = (await sender("explain"))["waiting"]
        if any(wait["what"] == "send" for wait in waiting):
            return waiting


async def story(transport: str) -> tuple[list[dict[str, Any]], dict[str, Any], dict[str, Any], dict[str, Any]]:
    kind = socket.SOCK_STREAM if transport == "tcp" else socket.SOCK_DGRAM
    members = {name: f"127.0.0.1:{port}" for name, port in zip(NAMES, free_ports(3, kind), strict=True)}
    config = {"self_delivery": False, "window_bytes": WINDOW_BYTES, "frame_bytes": FRAME_BYTES}
    async with Stage() as stage:
        for name in NAMES:
            puppet = await stage.start(name)
            await puppet("open", group="g", me=name, members=members, transport=transport, config=config)
        a, b = stage.puppets["A"], stage.puppets["B"]
        await b("pause")
        sending = asyncio.create_task(a("send", count=COUNT, size=SIZE, limit=120))
        await until_it_waits(a)
        before = await stage.everybody("report")
        await asyncio.sleep(STOPPED_SECONDS)
        waiting, stopped = await until_it_waits(a), await stage.everybody("report")
        await b("resume")
        await sending
        for name in ("B", "C"):
            await stage.puppets[name]("until_ends", ends={"A": 1}, limit=120)
        return waiting, before, stopped, await stage.everybody("report")


@pytest.mark.parametrize("transport", ["udp", "tcp"])
def test_a_sender_waits_for_a_stopped_reader_with_bounded_memory_and_then_resumes(transport: str) -> None:
    waiting, before, stopped, after = asyncio.run(story(transport))
    assert any("B" in wait["because"] for wait in waiting), waiting
    assert stopped["C"]["received"]["A"]["nbytes"] <= WINDOW_BYTES + IN_HAND_BYTES
    for name in NAMES:
        grown = stopped[name]["rss_now_megabytes"] - before[name]["rss_now_megabytes"]
        assert grown < 20, f"{name} grew by {grown:.0f} MB while B did not read"
    for name in ("B", "C"):
        seen = after[name]["received"]["A"]
        assert (seen["messages"], seen["wrong"]) == (COUNT, 0)
