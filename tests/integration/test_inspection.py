"""A running member is asked over its Unix socket: status, explain, top."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ringcast.lab import Stage, free_ports


def ringcast(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "ringcast", *arguments], capture_output=True, text=True, timeout=120, check=False
    )


async def ask_while_a_send_waits() -> dict[str, Any]:
    """A sends to B, which does not read; meanwhile an operator asks A."""
    a_port, b_port = free_ports(2)
    members = {"A": f"127.0.0.1:{a_port}", "B": f"127.0.0.1:{b_port}"}
    async with Stage() as stage:
        for name in members:
            puppet = await stage.start(name)
            config = {"capacity": 64, "self_delivery": False}
            await puppet("open", group="shop", me=name, members=members, config=config, inspect=True)
        await stage.puppets["B"]("pause")
        sending = asyncio.create_task(stage.puppets["A"]("send", count=1000, size=100))
        while not (await stage.puppets["A"]("explain"))["waiting"]:
            await asyncio.sleep(0.01)
        answers = await asyncio.to_thread(ask_everything, members["A"])
        await stage.puppets["B"]("resume")
        await sending
        await stage.everybody("close")
    return answers


def ask_everything(endpoint: str) -> dict[str, Any]:
    return {
        "listed": ringcast("status"),
        "status": ringcast("status", endpoint, "--json"),
        "status in words": ringcast("status", f"shop@{endpoint}"),
        "explain": ringcast("explain", endpoint),
        "explain as json": ringcast("explain", endpoint, "--json"),
        "top": ringcast("top", "--once", "--json", "--seconds", "0.1"),
        "ambiguous": ringcast("status", "shop"),
        "nobody": ringcast("explain", "10.9.8.7:1"),
    }


def test_an_operator_learns_why_a_send_waits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RINGCAST_SOCKETS", str(tmp_path))
    answers = asyncio.run(ask_while_a_send_waits())
    status = json.loads(answers["status"].stdout)
    assert {"view", "members", "windows", "waiting"} <= set(status)
    assert status["members"] == ["A#0", "B#0"]
    (wait,) = status["waiting"]
    assert wait["what"] == "send" and "B#0 has acked up to" in wait["because"] and wait["since_seconds"] >= 0
    assert "send waits" in answers["explain"].stdout and "window 64/64" in answers["explain"].stdout
    assert json.loads(answers["explain as json"].stdout)["waiting"]
    assert "send waits" in answers["status in words"].stdout
    assert sorted(line.split()[1].rstrip(",") for line in answers["listed"].stdout.splitlines()) == ["A", "B"]
    assert len(json.loads(answers["top"].stdout)["members"]) == 2
    assert (answers["ambiguous"].returncode, answers["nobody"].returncode) == (2, 2)
    assert "several members here" in answers["ambiguous"].stderr
    assert answers["nobody"].stderr.count("\n") == 1 and "Traceback" not in answers["nobody"].stderr
    assert list(tmp_path.iterdir()) == [], "a member that closes leaves no socket behind"
