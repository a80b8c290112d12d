"""What members of disjoint views say to each other alone arrives when they have merged, and nothing before.

A private message of a process outside the view is not the application's business: it stays with its sender, unacked,
until both are in one view.
"""

from __future__ import annotations

from typing import Any

from ringcast.core import Channel, Deliver
from ringcast.model import SECOND
from unit.core.membership.world import Proc, World


class Listening(Proc):
    """Keeps what was said to it alone."""

    def __init__(self, *args: Any, **join: Any) -> None:
        super().__init__(*args, **join)
        self.private: list[tuple[str, bytes]] = []

    def _read(self) -> bool:
        item = self.inbox[0] if self.inbox else None
        if isinstance(item, Deliver) and item.channel is Channel.PEER:
            self.private += [(item.origin.name, payload) for payload in item.payloads]
        return super()._read()


class ListeningWorld(World):
    proc = Listening

    def tell(self, name: str, to: str, *payloads: bytes) -> None:
        proc, peer = self[name], self[to].address
        for payload in payloads:
            assert proc.node.may_send_to([peer], len(payload))
            proc.settle(proc.node.send_to(self.now, [peer], payload))

    def heard(self, name: str) -> list[tuple[str, bytes]]:
        proc = self[name]
        assert isinstance(proc, Listening)
        return proc.private


def test_unicasts_between_disjoint_views_arrive_with_the_merge_m29() -> None:
    """M29: five each way sent while the views are disjoint, five each way in the common one; all arrive, in order."""
    world = ListeningWorld(29)
    for names in ("AB", "CD"):
        for name in names:
            world.start(name, expect=2, seeds=names)
    assert world.is_soon_one("AB") and world.is_soon_one("CD")
    before = [b"before %d" % number for number in range(5)]
    world.tell("B", "D", *before)
    world.tell("D", "B", *before)
    world.run_until(lambda: False, SECOND)
    assert world.heard("B") == world.heard("D") == []
    assert world.is_one("AB") and world.is_one("CD")
    world["A"].settle(world["A"].node.on_discovered(world.now, ["mem:C"]))
    assert world.is_soon_one("ABCD")
    after = [b"after %d" % number for number in range(5)]
    world.tell("B", "D", *after)
    world.tell("D", "B", *after)
    assert world.run_until(lambda: len(world.heard("B")) == len(world.heard("D")) == 10, 5 * SECOND)
    assert world.heard("B") == [("D", payload) for payload in before + after]
    assert world.heard("D") == [("B", payload) for payload in before + after]
