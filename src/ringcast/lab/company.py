"""Members that join one group, as processes: on loopback, or each in a network namespace of its own.

It knows where everybody is, starts and restarts them, puts load on them, and waits until all have everything. Tests
and demonstrations say only what happens to whom.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from ringcast.errors import PlaceLost
from ringcast.lab.network import Network, Side
from ringcast.lab.stage import Puppet, PuppetError, Stage, free_ports

Answers = dict[str, dict[str, Any]]
PORT = 7001


class Company:
    """Who there is, by name. `options` go into every member's `open` (profile, config, on_exclusion, …)."""

    def __init__(self, stage: Stage, record: Path, network: Network | None = None, **options: Any) -> None:
        self.stage = stage
        self.network = network
        self.places: dict[str, str] = {}
        self.sides: dict[str, Side] = {}
        self._options = {"group": "lab", "record": str(record), **options}
        self._loads: dict[str, asyncio.Task[dict[str, Any]]] = {}

    def __getitem__(self, name: str) -> Puppet:
        return self.stage.puppets[name]

    @property
    def names(self) -> list[str]:
        return [name for name, puppet in self.stage.puppets.items() if puppet.is_running]

    # ---- coming

    async def form(self, names: Sequence[str], right: Sequence[str] = ()) -> None:
        """All at once, and wait until everybody is in the one view."""
        self.sides |= dict.fromkeys(right, "right")
        self._give_places(names)
        await asyncio.gather(*(self.enter(name, expect=len(names)) for name in names))
        await self.until_view(names)

    async def enter(self, name: str, **order: Any) -> dict[str, Any]:
        """Start this process (again) at its place, and join."""
        self._give_places([name])
        place = self.places[name]
        inside = [] if self.network is None else self.network.plug(name, self.sides.get(name, "left"))[0]
        puppet = await self.stage.start(name, inside=inside)
        seeds = [other for other in list(self.places.values())[:4] if other != place]
        return await puppet("open", **{**self._options, "me": name, "bind": place, "seeds": seeds, **order})

    def _give_places(self, names: Sequence[str]) -> None:
        new = [name for name in names if name not in self.places]
        if self.network is None:
            self.places |= {n: f"127.0.0.1:{port}" for n, port in zip(new, free_ports(len(new)), strict=True)}
        else:
            self.places |= {n: f"{self.network.plug(n, self.sides.get(n, 'left'))[1]}:{PORT}" for n in new}

    # ---- being there

    async def until_view(self, names: Iterable[str], at: Iterable[str] | None = None, primary: bool = False) -> Answers:
        """Until these (or those named by `at`) have the view of exactly these names; `primary`: which is primary."""
        names = list(names)
        return await self.ask(names if at is None else at, "until_view", names=names, primary=primary)

    async def ask(self, names: Iterable[str], do: str, /, **order: Any) -> Answers:
        names = list(names)
        answers = await asyncio.gather(*(self[name](do, **order) for name in names))
        return dict(zip(names, answers, strict=True))

    # ---- load

    def load(self, names: Iterable[str], *, rate: float, size: int = 100, **more: Any) -> None:
        """From now on these send; the answer comes with `hush`. `in_order`: in the one order, to all and to some."""
        for name in names:
            order = {"rate": rate, "size": size, "limit": 600.0, **more}
            self._loads[name] = self[name].begin("start_load", **order)

    async def hush(self) -> Answers:
        """Nobody sends any more; what each of those who live has sent."""
        loads = {name: task for name, task in self._loads.items() if self[name].is_running and not task.done()}
        await self.ask(loads, "stop_load")
        answers = {name: await task for name, task in loads.items()}
        for task in self._loads.values():
            task.cancel()
        await asyncio.gather(*self._loads.values(), return_exceptions=True)
        self._loads.clear()
        return answers

    async def settle(self, names: Sequence[str] | None = None) -> Answers:
        """Everybody (of these) says one last thing, and has heard it of everybody: so all have everything. Reports.

        A fault that is over may still change the view: a roll call that began while a member was silent excludes it
        after it woke, and what that member said last reached its own side only. Then all say it again in the next view.
        """
        names = self.names if names is None else list(names)
        while (reports := await self._say_last(names)) is None:
            await self.until_view(names)
        return reports

    async def _say_last(self, names: Sequence[str]) -> Answers | None:
        """None if a view came between, and not everybody has heard everybody."""
        before = await self.ask(names, "report")
        sends = (self[name]("send", count=0, size=100) for name in names)
        for sent in await asyncio.gather(*sends, return_exceptions=True):
            if isinstance(sent, BaseException) and not _has_lost_its_place(sent):
                raise sent
        waits = (
            self[name]("until_ends", ends=_one_more(before[name], names), view=before[name]["view_id"])
            for name in names
        )
        reports = dict(zip(names, await asyncio.gather(*waits), strict=True))
        return reports if all(report["complete"] for report in reports.values()) else None


def _has_lost_its_place(error: BaseException) -> bool:
    return isinstance(error, PuppetError) and error.type == PlaceLost.__name__


def _one_more(report: dict[str, Any], names: Iterable[str]) -> dict[str, int]:
    """The ends that a member has heard by now, and one more of each."""
    received = report["received"]
    return {name: received[name]["ends"] + 1 if name in received else 1 for name in names}
