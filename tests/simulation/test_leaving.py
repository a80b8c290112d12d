"""A member leaves in good order: what it sent arrives, it is told at once, and nobody takes it for dead."""

from __future__ import annotations

import pytest

from ringcast import TOTAL
from ringcast.model import MS, Kind, Message, profile
from ringcast.runtime import Group
from ringcast.sim import Link
from ringcast.testing import World
from simulation.groups import group_of

COUNT = 30


class Reader:
    """Keeps what it reads, by the name of the sender."""

    def __init__(self) -> None:
        self.read: dict[str, list[bytes]] = {}

    async def run(self, group: Group) -> None:
        async for event in group:
            if isinstance(event, Message):
                self.read.setdefault(event.sender.name, []).append(event.payload)


def suspected(world: World) -> list[str]:
    events = [event for recording in world.recordings() for event in recording.events]
    return [event.peer.name for event in events if event.kind is Kind.SUSPECT and event.peer is not None]


@pytest.mark.parametrize("leaver", "AB")
def test_what_a_leaver_sent_reaches_all_who_go_on_although_much_is_lost(leaver: str) -> None:
    with World(Reader, "ABC", seed=7, link=Link(loss=0.3, delay_ns=MS)) as world:
        group = group_of(world, leaver)
        whole = [b"%d" % number for number in range(COUNT)]
        ordered = [b"ordered %d" % number for number in range(COUNT)]

        async def send_and_leave() -> None:
            for payload, placed in zip(whole, ordered, strict=True):
                await group.send(payload)
                await group.queue(placed)
            await group.leave()

        world.do(leaver, send_and_leave())
        world[leaver].main.cancel()
        world.agree()
        world.settle()
        for name, app in world.apps.items():
            read = app.read[leaver]
            assert [payload for payload in read if payload in whole] == whole, name
            assert [payload for payload in read if payload in ordered] == ordered, name
        assert suspected(world) == []


@pytest.mark.parametrize("leaver", "AB")
def test_a_leaver_is_told_the_view_without_it(leaver: str) -> None:
    """It need not ask a second time."""
    with World(Reader, "ABC", seed=8) as world:
        before = world.clock.now_ns
        world.leave(leaver)
        assert world.clock.now_ns - before < profile("test").join_retry_ns // 2
        world.agree()


def test_a_leaver_and_a_dead_member_go_in_one_view() -> None:
    with World(Reader, "ABCD", seed=9) as world:
        world.crash("D")
        world.suspect("A", "D")
        world.leave("C")
        world.agree()
        assert group_of(world, "A").view.id.number == 3


def test_who_leaves_is_not_looked_for_as_one_who_was_lost() -> None:
    """Frames to it end with its place."""
    with World(Reader, "ABC", seed=10) as world:
        world.do("B", group_of(world, "B").send(b"last", order=TOTAL))
        world.leave("B")
        world.agree()
        world.settle()
        for name in "AC":
            detection = world[name].node.coordination.merging.detection  # type: ignore[union-attr]
            assert world["B"].address.endpoint not in detection.outsiders._endpoints
