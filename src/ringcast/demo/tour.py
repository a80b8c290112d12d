"""The tour: a group forms, talks, waits for a slow reader, loses a member, is cut in two, heals; then it is judged.

A second, small group shows the primary policy and how a state is given. Both are one run.

Real processes. The cut is made in the network itself where namespaces are allowed, otherwise by the transport's own
switch; the tour says which. Ends every process it started, also when it fails or is interrupted.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ringcast.demo.steps import DemoError, Steps
from ringcast.errors import UsageError
from ringcast.lab import Company, Harness, Network, Stage, disagreement, namespace
from ringcast.runtime import find_members, short
from ringcast.trace import CONTENTS, RUN_ID, run_id

NAMES = "ABCDEFGHIJ"
VOTERS, CUT_OFF = ["X", "Y", "Z"], "Z"  # of the group in which only a majority goes on
SIZE = 200
CAPACITY = 1_024
BOUND_SECONDS = 10.0  # after the heal every wait must end and all share one view within this


@dataclass(frozen=True, slots=True)
class Options:
    members: int
    record: Path
    messages: int = 10_000
    in_namespaces: bool = True

    def __post_init__(self) -> None:
        if not 4 <= self.members <= len(NAMES):
            raise UsageError(f"--members must be 4 to {len(NAMES)}, got {self.members}")
        if self.record.exists() and any(self.record.iterdir()):
            raise UsageError(f"{self.record} is not empty; give --record a new directory")


async def walk(options: Options, steps: Steps) -> None:
    """Every step up to the recordings; DemoError if something is not as promised."""
    async with AsyncExitStack() as stack:
        why_not = namespace.why_not() if options.in_namespaces else "you asked for it"
        network = await stack.enter_async_context(Network()) if why_not is None else None
        stack.callback(find_members)  # It removes the sockets that killed members left behind.
        options.record.mkdir(parents=True, exist_ok=True)
        stage = await stack.enter_async_context(Stage(log=options.record / "members.log"))
        stack.enter_context(_one_run(options.record))
        harness = Harness(options.record, "demo")
        stack.callback(harness.close)
        more: dict[str, Any] = {"group": "demo", "config": {"capacity": CAPACITY}, "inspect": True}
        company = Company(stage, options.record, network, **more)
        voters = _Voters(stage, options.record / "primary", steps)
        stack.callback(voters.harness.close)
        await _Tour(options, steps, company, harness, voters, why_not).walk()


@contextmanager
def _one_run(record: Path) -> Iterator[None]:
    """What both groups record is one run, named after the place, unless somebody has named it; with digests of what
    messages carry."""
    before = dict(os.environ)
    os.environ.update({RUN_ID: run_id() or record.name, CONTENTS: "1"})
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


class _Voters:
    """Three processes with a state, of which only a majority goes on."""

    def __init__(self, stage: Stage, record: Path, steps: Steps) -> None:
        self.steps = steps
        self.harness = Harness(record, "demo-primary")
        options: dict[str, Any] = {"partition": "primary", "state": {"kind": "history"}}
        self.company = Company(stage, record, group="demo-primary", **options)
        self.healed_at = 0.0

    async def walk(self) -> None:
        majority = [name for name in VOTERS if name != CUT_OFF]
        async with self.steps.step(f"{', '.join(VOTERS)} keep one book of records: only a majority goes on"):
            await self.company.form(VOTERS)
            await self.company.until_view(VOTERS, primary=True)
            await self.company["X"]("send", count=100, size=SIZE)
            self.harness.fault("cut", left=majority, right=[CUT_OFF])
            await self._block(majority)
            await asyncio.gather(self.company.until_view(majority, primary=True), self.company.until_view([CUT_OFF]))
            sending = self.company[CUT_OFF]("send", count=1, size=SIZE)
            refused = await asyncio.gather(sending, return_exceptions=True)
            self.steps.expect("not primary" in str(refused[0]), f"{CUT_OFF} could send while it was cut off")
            self.steps.tell(f"{CUT_OFF} is cut off and may not send; the others go on")
            await self.company["X"]("send", count=100, size=SIZE)
            await self.company.ask(VOTERS, "unblock")
            self.harness.heal(BOUND_SECONDS)
            self.healed_at = time.monotonic()
            await self.company[CUT_OFF]("until_rejoined")
            await self.company.until_view(VOTERS, primary=True)
            await self.company.settle(VOTERS)
            states = await self.company.ask(VOTERS, "state")
            same = all(state["digests"] == states["X"]["digests"] for state in states.values())
            self.steps.expect(same, f"{', '.join(VOTERS)} do not hold the same records")
            self.steps.tell(f"{CUT_OFF} came back, was given the state, and holds the same records as the others")

    async def _block(self, majority: list[str]) -> None:
        for side, others in ((majority, [CUT_OFF]), ([CUT_OFF], majority)):
            await self.company.ask(side, "block", endpoints=[self.company.places[name] for name in others])

    async def leave(self) -> None:
        for name in VOTERS:
            await self.company[name]("leave")


class _Tour:
    """The company, step by step."""

    def __init__(
        self,
        options: Options,
        steps: Steps,
        company: Company,
        harness: Harness,
        voters: _Voters,
        why_no_network: str | None,
    ) -> None:
        self.options = options
        self.steps = steps
        self.company = company
        self.harness = harness
        self.voters = voters
        self.why_no_network = why_no_network
        self.names = list(NAMES[: options.members])
        self.victim = self.names[-1]
        self.survivors = self.names[:-1]
        self.settled_at = 0.0  # when the bound of G14 is over
        half = (len(self.survivors) + 1) // 2
        self.left, self.right = self.survivors[:half], self.survivors[half:]

    async def walk(self) -> None:
        await self._form()
        await self._talk()
        await self._slow_reader()
        await self._crash()
        await self._split()
        await self._heal()
        await self._order()
        await self.voters.walk()
        self.settled_at = max(self.settled_at, self.voters.healed_at + BOUND_SECONDS + 1.0)
        await self._leave()

    async def _form(self) -> None:
        async with self.steps.step(f"{len(self.names)} processes start at once and form one group"):
            await self.company.form(self.names, right=self.right)
            views = await self.company.until_view(self.names)
            for name in self.names:
                self.steps.tell(f"{name} is process {self.company[name].pid} at {self.company.places[name]}")
            view = next(iter(views.values()))
            self.steps.tell(short(f"one view, {view['view']}; {view['coordinator']} coordinates"))
            self.steps.tell("watch them from another shell: ringcast top")

    async def _talk(self) -> None:
        async with self.steps.step("Everybody sends to everybody"):
            reports = await self._send(self.names)
            again = sum(report["retransmitted"] for report in reports.values())
            count = f"{self.options.messages:,} messages from each of {len(self.names)}"
            self.steps.tell(f"{count}, delivered by all, each sender's in order")
            self.steps.tell(f"{again:,} of them had to be sent again")

    async def _send(self, names: list[str]) -> dict[str, Any]:
        """Everybody of these sends; then all of them have all of it, unaltered."""
        await self.company.ask(names, "send", count=self.options.messages, size=SIZE)
        reports = await self.company.settle(names)
        for name, report in reports.items():
            for sender, seen in report["received"].items():
                self.steps.expect(not seen["wrong"], f"{name} got {seen['wrong']} wrong messages of {sender}")
        return reports

    async def _slow_reader(self) -> None:
        slow, sender = self.survivors[-1], self.names[0]
        async with self.steps.step(f"{slow} stops reading: the senders wait, with bounded memory, and say why"):
            await self.company[slow]("pause")
            sending = self.company[sender].begin("send", count=4 * CAPACITY, size=SIZE)
            self.steps.tell(f"asked why, {sender} says: {await self._until_it_waits(sender)}")
            await self.company[slow]("resume")
            await sending
            self.steps.tell(f"{slow} reads again, and everything arrives")

    async def _until_it_waits(self, sender: str) -> str:
        """Its explanation, once it has waited long enough that it names only who really holds it back."""
        for _ in range(1_000):
            answer = await self.company[sender]("explain")
            for wait in answer["waiting"]:
                if wait["what"] == "send" and wait["since_seconds"] > 0.3:
                    return short(f"send waits: {wait['because']}; it goes on when {wait['freed_by']}")
            await asyncio.sleep(0.02)
        raise DemoError(f"{sender} did not wait for the reader that stopped")

    async def _crash(self) -> None:
        async with self.steps.step(f"{self.victim} is killed (kill -9) while everybody sends"):
            self.company.load(self.survivors, rate=5_000, size=SIZE)
            await asyncio.sleep(0.5)
            self.harness.fault("kill", members=[self.victim])
            began = time.monotonic()
            await self.company[self.victim].kill()
            await self.company.until_view(self.survivors)
            took = time.monotonic() - began
            await self.company.hush()
            self.steps.tell(
                f"the others noticed, agreed on what {self.victim} had sent, and go on without it after {took:.1f} s"
            )
            await self._send(self.survivors)

    async def _split(self) -> None:
        left, right = ", ".join(self.left), ", ".join(self.right)
        async with self.steps.step(f"The network is cut between {left} and {right}"):
            self.harness.fault("cut", left=self.left, right=self.right)
            await self._cut()
            await asyncio.gather(self.company.until_view(self.left), self.company.until_view(self.right))
            self.steps.tell(f"two groups now, each with a view of its own: {left} | {right}")
            await asyncio.gather(self._send(self.left), self._send(self.right))
            self.steps.tell(
                f"each side goes on: {self.options.messages:,} messages from each member, delivered on its side"
            )

    async def _cut(self) -> None:
        if self.company.network is not None:
            await self.company.network.cut_trunk()
            self.steps.tell("cut in the network: the cable between the two switches is down")
            return
        for side, others in ((self.left, self.right), (self.right, self.left)):
            await self.company.ask(side, "block", endpoints=[self.company.places[name] for name in others])
        self.steps.tell(f"cut by the transport's own switch, not in the network: {self.why_no_network}")

    async def _heal(self) -> None:
        async with self.steps.step("The network is healed: the two groups find each other and merge"):
            began = time.monotonic()
            if self.company.network is not None:
                await self.company.network.heal_trunk()
            else:
                await self.company.ask(self.survivors, "unblock")
            self.harness.heal(BOUND_SECONDS)
            views = await self.company.until_view(self.survivors)
            view = next(iter(views.values()))
            self.steps.tell(short(f"one view again after {time.monotonic() - began:.1f} s: {view['view']}"))
            await self._send(self.survivors)
            self.steps.tell("nothing was repeated; what was sent while split stayed on its side")
            for line in (await self.company[self.left[0]]("explain"))["text"].splitlines():
                if "while apart" in line:
                    self.steps.tell(f"{self.left[0]} says: {line.strip()}")
            self.settled_at = began + BOUND_SECONDS + 1.0

    async def _order(self) -> None:
        each = self.options.messages // 20
        async with self.steps.step("Messages to random subsets, in one order for everybody"):
            await self.company.ask(self.survivors, "order_subsets", count=each, seed="demo")
            reads = {
                name: answer["read"] for name, answer in (await self.company.ask(self.survivors, "ordered")).items()
            }
            wrong = disagreement(reads)
            self.steps.expect(wrong is None, wrong or "")
            total = sum(map(len, reads.values()))
            count = f"{each * len(self.survivors):,} messages, {total:,} deliveries"
            self.steps.tell(f"{count}; whoever read the same two read them alike")

    async def _leave(self) -> None:
        async with self.steps.step("Everybody leaves, the coordinator first"):
            # G14 is judged over what happens beyond its bound, so the recordings must reach there.
            self.steps.tell(
                f"but not before {BOUND_SECONDS:.0f} s after the heal: by then nothing may wait any more (G14)"
            )
            await asyncio.sleep(max(0.0, self.settled_at - time.monotonic()))
            for name in self.survivors:
                await self.company[name]("leave")
            await self.voters.leave()
            self.steps.tell("each left in good order; the next in line took over every time")
