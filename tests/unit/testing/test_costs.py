"""What a simulated group costs, in counted steps: nothing is looked for twice, and idle members hardly do anything."""

import asyncio
from collections import Counter
from typing import Any

import pytest

from ringcast.core import Loose, Node
from ringcast.core.deadlines import Deadlines
from ringcast.testing import World
from unit.testing.stores import Log


def test_data_does_not_make_a_member_look_for_its_deadlines_again(monkeypatch: pytest.MonkeyPatch) -> None:
    counted: Counter[str] = Counter()
    on_packet, on_time, earliest_ns = Node.on_packet, Node.on_time, Deadlines._earliest_ns

    def counted_packet(node: Node, now_ns: int, sender: Any, packet: Any) -> Any:
        counted["control" if isinstance(packet, Loose) else "data"] += 1
        return on_packet(node, now_ns, sender, packet)

    def counted_time(node: Node, now_ns: int) -> Any:
        counted["time"] += 1
        return on_time(node, now_ns)

    def counted_search(deadlines: Deadlines) -> int | None:
        counted["searches"] += 1
        return earliest_ns(deadlines)

    async def talk(app: Log) -> None:
        for _ in range(100):
            await app.say("word")
            await asyncio.sleep(0.001)

    with World(Log, 3) as world:
        world.settle()
        monkeypatch.setattr(Node, "on_packet", counted_packet)
        monkeypatch.setattr(Node, "on_time", counted_time)
        monkeypatch.setattr(Deadlines, "_earliest_ns", counted_search)
        world.do("A", talk(world.apps["A"]))
        assert counted["data"] > 200
        assert counted["searches"] <= counted["control"] + counted["time"]
        monkeypatch.undo()


def test_a_deadline_that_is_kept_too_late_is_found_by_the_check() -> None:
    with World(Log, 2) as world:
        world.settle()
        driver = world["A"].place.entry.driver
        assert driver is not None
        coordination = driver.node.coordination
        assert coordination is not None
        driver.node.deadline_ns()
        coordination.check()
        coordination.membership._raise.first_ns = 1
        with pytest.raises(AssertionError):
            coordination.check()
        coordination.membership._raise.first_ns = None


def test_an_idle_member_wakes_once_per_heartbeat_for_itself_and_once_per_announcement() -> None:
    with World(Log, 5) as world:
        world.settle()
        world.advance(2)
        config, seconds = world.config, 10
        drivers = [world[name].place.entry.driver for name in world.names]
        before = [
            part.detector.heartbeats.progress
            for driver in drivers
            if driver is not None and (part := driver.node.coordination)
        ]
        world.advance(seconds)
        after = [
            part.detector.heartbeats.progress
            for driver in drivers
            if driver is not None and (part := driver.node.coordination)
        ]
        heartbeats = seconds * 10**9 / config.heartbeat_ns
        announcements = seconds * 10**9 / (0.75 * config.announce_ns)
        for turns in (b - a for a, b in zip(before, after, strict=True)):
            assert turns <= heartbeats + announcements + seconds, (turns, heartbeats, announcements)
