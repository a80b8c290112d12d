"""A real process is told to end: it leaves first, so nobody has to find out that it is gone."""

import asyncio
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from ringcast import profile
from ringcast.runtime import Group, join

ASYNC = """
    import asyncio, sys, ringcast
    async def main():
        async with ringcast.join("g", name="child", seeds=[sys.argv[1]], config="test", inspect=False) as group:
            await group.send_many([b"%d" % n for n in range(60)])
            print("sent", flush=True)
            async for event in group:
                pass
    asyncio.run(main())
"""
SYNC = """
    import sys, ringcast
    with ringcast.sync.join("g", name="child", seeds=[sys.argv[1]], config="test", inspect=False) as group:
        group.send_many([b"%d" % n for n in range(60)])
        print("sent", flush=True)
        for event in group:
            pass
"""


async def end_child(script: Path, number: signal.Signals) -> tuple[int, str, list[bytes], list[int]]:
    """How the child ended, what it said, and what a member beside it received and saw."""
    payloads: list[bytes] = []
    sizes: list[int] = []
    patient = profile("test", suspect_after_ns=60_000_000_000, stall_limit_ns=600_000_000_000)
    async with asyncio.timeout(60), join("g", name="parent", config=patient, inspect=False) as group:
        command = [sys.executable, str(script), group.me.endpoint]
        child = await asyncio.create_subprocess_exec(*command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        reading = asyncio.create_task(read(group, payloads, sizes))
        assert child.stdout is not None and await child.stdout.readline() == b"sent\n"
        child.send_signal(number)
        _, said = await child.communicate()
        await reading
    assert child.returncode is not None
    return child.returncode, said.decode(), payloads, sizes


async def read(group: Group, payloads: list[bytes], sizes: list[int]) -> None:
    """Until the child has come and gone; only its leave can tell, for silence is not suspected here."""
    async for batch in group.batches():
        if hasattr(batch, "payloads"):
            payloads.extend(batch.payloads)
        elif hasattr(batch, "view"):
            sizes.append(len(batch.view.members))
            if sizes[-2:] == [2, 1]:
                return


@pytest.mark.parametrize("text", [ASYNC, SYNC], ids=["async", "sync"])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["SIGTERM", "SIGINT"])
def test_a_process_that_is_told_to_end_leaves_and_loses_nothing(
    text: str, number: signal.Signals, tmp_path: Path
) -> None:
    script = tmp_path / "child.py"
    script.write_text(textwrap.dedent(text))
    code, said, payloads, sizes = asyncio.run(end_child(script, number))
    assert payloads == [b"%d" % n for n in range(60)]
    assert sizes[-2:] == [2, 1], "the child was in, and left"
    if number is signal.SIGTERM:
        assert (code, said) == (143, ""), "quietly, with the number of the signal"
    else:
        assert "KeyboardInterrupt" in said
