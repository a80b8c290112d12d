"""The tour itself: a group forms, talks, waits for a slow reader, is cut and heals; then its recordings are judged."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ringcast.checkers import Judgement, judge
from ringcast.demo.steps import DemoError, Say, Steps
from ringcast.errors import UsageError
from ringcast.lab import Stage, free_ports
from ringcast.trace import read_run

NAMES = "ABCDEFGHIJ"
LIMIT = 120.0


@dataclass(frozen=True, slots=True)
class Options:
    members: int
    record: Path
    messages: int = 20_000

    def __post_init__(self) -> None:
        if not 3 <= self.members <= len(NAMES):
            raise UsageError(f"--members must be 3 to {len(NAMES)}, got {self.members}")
        if self.record.exists() and any(self.record.iterdir()):
            raise UsageError(f"{self.record} is not empty; give --record a new directory")


@dataclass(frozen=True, slots=True)
class Outcome:
    steps: list[dict[str, Any]]
    judgement: Judgement | None
    failure: str | None

    @property
    def is_good(self) -> bool:
        return self.failure is None and self.judgement is not None and self.judgement.verdict == "held"


async def take_tour(options: Options, say: Say) -> Outcome:
    steps = Steps(say)
    try:
        async with Stage() as stage:
            await _Tour(options, steps, stage).run()
        judgement = await _judge(options, steps)
    except DemoError as failure:
        return Outcome(steps.to_json(), None, str(failure))
    return Outcome(steps.to_json(), judgement, None)


class _Tour:
    """The stage with its members, step by step."""

    def __init__(self, options: Options, steps: Steps, stage: Stage) -> None:
        self.options = options
        self.steps = steps
        self.stage = stage
        self.names = list(NAMES[: options.members])
        self.members: dict[str, str] = {}
        self.ends = 0

    async def run(self) -> None:
        await self._form()
        await self._talk("Everybody sends to everybody")
        await self._slow_reader()
        await self._cut()
        await self._end()

    async def _form(self) -> None:
        count = len(self.names)
        async with self.steps.step(f"{count} processes form a group"):
            ports = free_ports(count)
            self.members = {name: f"127.0.0.1:{port}" for name, port in zip(self.names, ports, strict=True)}
            for name in self.names:
                puppet = await self.stage.start(name)
                await puppet(
                    "open",
                    group="demo",
                    me=name,
                    members=self.members,
                    record=str(self.options.record),
                    config={"capacity": 4096},
                )
                self.steps.tell(f"{name} is process {puppet.pid} at {self.members[name]}")

    async def _talk(self, title: str) -> None:
        each = self.options.messages
        async with self.steps.step(title):
            self.ends += 1
            sends = asyncio.create_task(self.stage.everybody("send", count=each, size=200))
            reports = await self._arrived()
            await sends
            self.steps.tell(
                f"{each:,} messages from each of {len(self.names)}, all delivered by all, each sender's in order"
            )
            self.steps.tell(f"{sum(r['retransmitted'] for r in reports.values()):,} messages had to be sent again")

    async def _arrived(self) -> dict[str, dict[str, Any]]:
        """Everybody has everything that was sent so far, unaltered."""
        reports = await self.stage.everybody("until_ends", ends=dict.fromkeys(self.names, self.ends), limit=LIMIT)
        for name, report in reports.items():
            for sender, seen in report["received"].items():
                right = seen["messages"] == self.options.messages * self.ends and not seen["wrong"]
                self.steps.expect(
                    right, f"{name} has {seen['messages']} messages of {sender}, {seen['wrong']} of them wrong"
                )
        return reports

    async def _slow_reader(self) -> None:
        slow, sender = self.names[-1], self.names[0]
        async with self.steps.step(f"{slow} stops reading: the senders wait, with bounded memory, and say why"):
            self.ends += 1
            await self.stage.puppets[slow]("pause")
            sends = asyncio.create_task(self.stage.everybody("send", count=self.options.messages, size=200))
            text = await self._until_it_waits(sender)
            self.steps.tell(f"{sender} explains: {text}")
            await self.stage.puppets[slow]("resume")
            await self._arrived()
            await sends
            self.steps.tell(f"{slow} reads again, and everything arrives")

    async def _until_it_waits(self, sender: str) -> str:
        """Its explanation, once it has waited long enough that it names only who really holds it back."""
        for _ in range(1_000):
            answer = await self.stage.puppets[sender]("explain")
            if any(wait["what"] == "send" and wait["since_seconds"] > 0.3 for wait in answer["waiting"]):
                text: str = answer["text"]
                return text
            await asyncio.sleep(0.02)
        raise DemoError(f"{sender} did not wait for the reader that stopped")

    async def _cut(self) -> None:
        cut_off = self.names[-1]
        others = [name for name in self.names if name != cut_off]
        async with self.steps.step(f"The network is cut between {cut_off} and the others, then healed"):
            self.ends += 1
            await self._block(cut_off, others)
            sends = asyncio.create_task(self.stage.everybody("send", count=self.options.messages, size=200))
            text = await self._until_it_waits(self.names[0])
            self.steps.tell(f"cut by the transport's own switch; {self.names[0]} explains: {text}")
            await self.stage.everybody("unblock")
            await self._arrived()
            await sends
            self.steps.tell("healed: what was lost was sent again, nothing is missing and nothing came twice")

    async def _block(self, cut_off: str, others: list[str]) -> None:
        await self.stage.puppets[cut_off]("block", endpoints=[self.members[name] for name in others])
        for name in others:
            await self.stage.puppets[name]("block", endpoints=[self.members[cut_off]])

    async def _end(self) -> None:
        async with self.steps.step("Everybody leaves"):
            await self.stage.everybody("close")


async def _judge(options: Options, steps: Steps) -> Judgement:
    async with steps.step("The recordings are judged by the checkers"):
        judgement = judge(read_run([options.record]))
        for name, finding in judgement.findings.items():
            if finding.verdict != "unjudged":
                facts = f"{finding.examined:,} facts examined, {finding.violation_count} violations"
                steps.tell(f"{name}: {finding.verdict}, {facts}")
        steps.tell(f"verdict over {judgement.events:,} events: {judgement.verdict}; {'; '.join(judgement.reasons)}")
        return judgement
