"""A newcomer's questions, put to groups that were brought into that state: the answers are kept as transcripts.

Real processes, the real commands. `RINGCAST_REWRITE=1 pytest tests/integration/test_transcripts.py` writes them anew.
"""

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from integration.transcript import Transcript
from ringcast.lab import Company, Network, Puppet, Stage, free_ports

PLACES = {name: f"127.0.0.1:700{number}" for number, name in enumerate("ABCDEF", 1)}
OPTIONS: dict[str, Any] = {"group": "shop", "profile": "test", "inspect": True}


@pytest.fixture(autouse=True)
def _own_sockets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RINGCAST_SOCKETS", str(tmp_path / "sockets"))


async def until(is_so: Callable[[], Awaitable[bool]]) -> None:
    while not await is_so():
        await asyncio.sleep(0.02)


async def until_quiet(company: Company, names: str) -> None:
    """The coordinator of a fresh view may still collect the last answers; it would say so."""
    for name in names:

        async def is_quiet(member: Puppet = company[name]) -> bool:
            return " runs for " not in (await member("explain"))["text"]

        await until(is_quiet)


async def open_shop(stage: Stage, record: Path, transcript: Transcript, names: str) -> Company:
    company = Company(stage, record, **OPTIONS)
    for name in names:  # one after the other, so that the order of the view is the same in every run
        await company.enter(name)
    await company.until_view(names)
    transcript.names |= {PLACES[name]: place for name, place in company.places.items()}
    return company


def test_why_does_my_send_wait(tmp_path: Path) -> None:
    transcript = Transcript(
        "why-does-my-send-wait", "Why does my send wait?", "A sends to a group whose member C has stopped reading."
    )

    async def story() -> None:
        async with Stage() as stage:
            company = await open_shop(stage, tmp_path / "record", transcript, "ABC")
            await company["C"]("pause")
            sending = asyncio.create_task(company["A"]("send", count=2000, size=100))

            async def waits() -> bool:
                waiting = (await company["A"]("explain"))["waiting"]
                return any(
                    w["what"] == "send" and w["since_seconds"] > 0.5 and "B" not in w["because"] for w in waiting
                )

            await until(waits)
            await transcript.run("ringcast explain 127.0.0.1:7001")
            await transcript.run("ringcast status 127.0.0.1:7001")
            transcript.remark("C itself waits for nothing: its application simply does not read. Its status shows it.")
            await transcript.run("ringcast explain 127.0.0.1:7003")
            await company["C"]("resume")
            await sending
            transcript.remark("C reads again.")
            await transcript.run("ringcast explain 127.0.0.1:7001")

    asyncio.run(story())
    transcript.compare()


def test_why_is_d_not_in_the_group(tmp_path: Path) -> None:
    transcript = Transcript(
        "why-is-d-not-in-the-group", "Why is D not in the group?", "D was killed, and then C has left."
    )

    async def story() -> None:
        async with Stage() as stage:
            company = await open_shop(stage, tmp_path / "record", transcript, "ABCD")
            await company["D"].kill()
            await company.until_view("ABC")
            await company["C"]("leave")
            await company.until_view("AB")
            await until_quiet(company, "AB")
            await transcript.run("ringcast explain 127.0.0.1:7001")
            transcript.remark("B knows it as well.")
            await transcript.run("ringcast explain 127.0.0.1:7002")
            transcript.remark("D is dead: nobody is there to be asked.")
            await transcript.run("ringcast explain 127.0.0.1:7004")
            transcript.remark("E was given D's old place as its seed. Ask E itself, while it tries.")
            async with Hopeless("shop", "E", company.places["D"], transcript):
                await transcript.run("ringcast explain 127.0.0.1:7005")
            transcript.remark("F joins 'shopp' by mistake. A hears of it, and F hears nobody.")
            async with Hopeless("shopp", "F", company.places["A"], transcript):
                await transcript.run("ringcast explain 127.0.0.1:7006")
                await transcript.run("ringcast explain 127.0.0.1:7001")

    asyncio.run(story())
    transcript.compare()


class Hopeless:
    """`ringcast node` on a way that leads nowhere, until it gives up."""

    def __init__(self, group: str, name: str, seed: str, transcript: Transcript) -> None:
        self._place = f"127.0.0.1:{free_ports(1)[0]}"
        self._line = f"node {group} --name {name} --bind {self._place} --seed {seed} --observer --join-timeout 5"
        self._socket = Path(os.environ["RINGCAST_SOCKETS"]) / f"{group}@{self._place}.sock"
        self._transcript = transcript
        transcript.names[PLACES[name]] = self._place

    async def __aenter__(self) -> None:
        self._child = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "ringcast", *self._line.split(), stderr=asyncio.subprocess.PIPE
        )

        async def can_be_asked() -> bool:
            return self._socket.exists()

        await until(can_be_asked)

    async def __aexit__(self, *_: object) -> None:
        assert self._child.stderr is not None
        self._transcript.told("# In the end it says:", (await self._child.stderr.read()).decode())
        assert await self._child.wait() == 2


def test_did_the_merge_lose_anything(tmp_path: Path) -> None:
    transcript = Transcript(
        "did-the-merge-lose-anything",
        "Did the merge lose anything?",
        "The network between A, B and C, D is cut; A sends 30 messages on its side, C sends 50 on the other.",
    )

    async def story() -> None:
        record = tmp_path / "record"
        transcript.names["RECORD"] = str(record)
        async with Stage() as stage:
            company = await open_shop(stage, record, transcript, "ABCD")
            await _block(company, "AB", "CD")
            await asyncio.gather(company.until_view("AB"), company.until_view("CD"))
            await company["A"]("send", count=29, size=10)
            await company["C"]("send", count=49, size=10)
            await until_quiet(company, "ABCD")
            transcript.remark("While it is cut, each side says where the other is.")
            await transcript.run("ringcast explain 127.0.0.1:7001")
            await transcript.run("ringcast explain 127.0.0.1:7003")
            await company.ask("ABCD", "unblock")
            await company.until_view("ABCD")
            await until_quiet(company, "ABCD")
            transcript.remark("The network is whole again. Both sides have merged.")
            await transcript.run("ringcast explain 127.0.0.1:7001")
            await transcript.run("ringcast explain 127.0.0.1:7003")
            for name in "ABCD":
                await company[name]("leave")
        transcript.remark("And what the recordings prove (G8 to G10 are about the merge):")
        await transcript.run("ringcast check RECORD --checkers --require G8,G9,G10")

    asyncio.run(story())
    transcript.compare()


async def _block(company: Company, left: str, right: str) -> None:
    for side, others in ((left, right), (right, left)):
        await company.ask(side, "block", endpoints=[company.places[name] for name in others])


@pytest.mark.needs("namespaces")
def test_how_do_i_run_it_on_two_machines(tmp_path: Path) -> None:
    transcript = Transcript(
        "how-do-i-run-it-on-two-machines",
        "How do I run it on two machines?",
        "10.77.0.1 and 10.77.0.2 reach each other.",
    )

    async def story() -> None:
        await transcript.run("ringcast node chat --name alice --bind 10.77.0.1:7001 --profile lan")
        transcript.names = {"chat.key": str(tmp_path / "chat.key")}
        await transcript.run("ringcast key new -o chat.key")
        transcript.told("$ scp -p chat.key 10.77.0.2:", "")
        async with Network() as network:
            key = f"--profile lan --key-file {tmp_path / 'chat.key'}"
            alice = await Shell.open(network, "alice", f"--bind 10.77.0.1:7001 {key}")
            bob = await Shell.open(network, "bob", f"--bind 10.77.0.2:7001 --seed 10.77.0.1:7001 {key}")
            for shell in (alice, bob):
                await shell.until("alice, bob")
            await alice.say("hello from the first machine")
            await bob.until("hello from the first machine")
            await bob.say("and from the second")
            for shell in (alice, bob):
                await shell.until("and from the second")
            await bob.end()
            await alice.until("-- view 3: alice")
            await alice.end()
            transcript.told(f"$ {transcript.named(alice.line)}   # on the first machine", alice.said)
            transcript.told(f"$ {transcript.named(bob.line)}   # on the second", bob.said)

    asyncio.run(story())
    transcript.compare()


class Shell:
    """`ringcast node` on a machine of its own: lines in, lines out."""

    def __init__(self, line: str, child: asyncio.subprocess.Process) -> None:
        self.line = line
        self.said = ""
        self._child = child

    @classmethod
    async def open(cls, network: Network, name: str, options: str) -> "Shell":
        line = f"ringcast node chat --name {name} {options}"
        inside, _ = network.plug(name)
        child = await asyncio.create_subprocess_exec(
            *inside,
            sys.executable,
            "-m",
            *line.split(),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        shell = cls(line, child)
        await shell.until("ask me with")
        return shell

    async def until(self, text: str) -> None:
        assert self._child.stdout is not None
        async with asyncio.timeout(60):
            while text not in self.said:
                line = await self._child.stdout.readline()
                assert line, f"{self.line} ended after: {self.said}"
                self.said += line.decode()

    async def say(self, line: str) -> None:
        assert self._child.stdin is not None
        self._child.stdin.write(f"{line}\n".encode())
        await self._child.stdin.drain()

    async def end(self) -> None:
        assert self._child.stdin is not None and self._child.stdout is not None
        self._child.stdin.close()
        self.said += (await self._child.stdout.read()).decode()
        assert await self._child.wait() == 0
