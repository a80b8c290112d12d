"""Starts puppets, tells them what to do, and makes sure that none is left behind.

A hang is turned into a failure by `limit` (seconds) on each command; it is generous and nothing depends on it.
Ends only processes it started.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import signal
import socket
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import msgspec

from ringcast.errors import RingcastError

RECORDED_SECONDS = 0.2  # a recording is flushed every 50 ms
LIMIT = 120.0


class PuppetError(RingcastError):
    """A puppet answered with an error (of this `type`), or did not answer."""

    def __init__(self, words: str, type: str = "") -> None:
        super().__init__(words)
        self.type = type


class Puppet:
    """One member process. `await puppet("send", count=3)` gives its answer."""

    def __init__(self, name: str, child: asyncio.subprocess.Process) -> None:
        self.name = name
        self._child = child
        self._ids = itertools.count()
        self._answers: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._listening = asyncio.create_task(self._listen())

    @property
    def pid(self) -> int:
        return self._child.pid

    @property
    def is_running(self) -> bool:
        return self._child.returncode is None

    async def __call__(self, do: str, *, limit: float = LIMIT, **order: Any) -> dict[str, Any]:
        number = next(self._ids)
        answer = self._answers[number] = asyncio.get_running_loop().create_future()
        assert self._child.stdin is not None
        self._child.stdin.write(msgspec.json.encode({"id": number, "do": do, **order}) + b"\n")
        try:
            async with asyncio.timeout(limit):
                found: dict[str, Any] = await answer
        except TimeoutError:
            raise PuppetError(f"{self.name} did not answer {do!r} within {limit} s") from None
        finally:
            self._answers.pop(number, None)
        if "error" in found:
            raise PuppetError(f"{self.name} could not {do}: {found['error']}", found.get("type", ""))
        return found

    def begin(self, do: str, **order: Any) -> asyncio.Task[dict[str, Any]]:
        """Ask, and await the answer later. If the stage ends before that, nobody misses it."""
        asking = asyncio.create_task(self(do, **order))
        asking.add_done_callback(lambda done: done.cancelled() or done.exception())
        return asking

    def signal(self, number: signal.Signals) -> None:
        if self.is_running:
            self._child.send_signal(number)

    async def kill(self) -> None:
        """kill -9, and wait until it is gone.

        Not before what happened so far is on its disk: a recording that breaks off before a view that others installed
        with its member leaves a run unjudged.
        """
        await asyncio.sleep(RECORDED_SECONDS)
        self.signal(signal.SIGKILL)
        await self._child.wait()
        await self._listening

    async def end(self) -> None:
        """Close its input and wait; kill it if it does not end by itself."""
        assert self._child.stdin is not None
        self._child.stdin.close()
        try:
            async with asyncio.timeout(10):
                await self._child.wait()
        except TimeoutError:
            await self.kill()
        await self._listening

    async def _listen(self) -> None:
        assert self._child.stdout is not None
        while line := await self._child.stdout.readline():
            answer = msgspec.json.decode(line)
            waiting = self._answers.get(answer["id"])
            if waiting is not None and not waiting.done():
                waiting.set_result(answer)
        for waiting in self._answers.values():
            if not waiting.done():
                waiting.set_result({"error": "the process ended"})


class Stage:
    """A set of puppets that end together. Use as `async with`. What they log goes to the file `log`, else to stderr."""

    def __init__(self, log: Path | None = None) -> None:
        self.puppets: dict[str, Puppet] = {}
        self._log = log

    async def start(
        self, name: str, *, inside: Sequence[str] = (), env: dict[str, str] | None = None, loop: str = "asyncio"
    ) -> Puppet:
        """Start a puppet; `inside` is a command prefix such as `ip netns exec NAME`, `loop` asyncio or uvloop."""
        with ExitStack() as stack:
            log = None if self._log is None else stack.enter_context(self._log.open("ab"))
            child = await asyncio.create_subprocess_exec(
                *inside,
                sys.executable,
                "-m",
                "ringcast.lab.puppet",
                loop,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=log,
                start_new_session=True,  # Ctrl-C is for who holds the stage; it ends the puppets.
                env=os.environ | (env or {}),
                limit=1 << 22,
            )
        puppet = self.puppets[name] = Puppet(name, child)
        return puppet

    async def everybody(self, do: str, **order: Any) -> dict[str, dict[str, Any]]:
        """The same command to all that run; answers by name."""
        running = [puppet for puppet in self.puppets.values() if puppet.is_running]
        answers = await asyncio.gather(*(puppet(do, **order) for puppet in running))
        return {puppet.name: answer for puppet, answer in zip(running, answers, strict=True)}

    async def __aenter__(self) -> Stage:
        return self

    async def __aexit__(self, *_: object) -> None:
        await asyncio.gather(*(puppet.end() for puppet in self.puppets.values()))


def free_ports(count: int, kind: socket.SocketKind = socket.SOCK_DGRAM) -> list[int]:
    """Ports on loopback that are free at this moment; held together while looking, so they are distinct."""
    held = []
    for _ in range(count):
        sock = socket.socket(socket.AF_INET, kind)
        sock.bind(("127.0.0.1", 0))
        held.append(sock)
    ports = [sock.getsockname()[1] for sock in held]
    for sock in held:
        sock.close()
    return ports
