"""What members of disjoint views say to each other alone arrives when they have merged, and nothing before.

A private message of a process outside the view is not the application's business: it stays with its sender, unacked,
until both are in one view.
"""

from __future__ import annotations

from ringcast.model import SECOND
from simulation.members import Members


def tell(world: Members, name: str, to: str, *payloads: bytes) -> None:
    peer = world.address(to)
    for payload in payloads:
        assert world[name].node.may_send_to([peer], len(payload))
        world.into(name, lambda node, now_ns, payload=payload: node.send_to(now_ns, [peer], payload))  # type: ignore[misc]


def test_unicasts_between_disjoint_views_arrive_with_the_merge_m29() -> None:
    """M29: five each way sent while the views are disjoint, five each way in the common one; all arrive, in order."""
    world = Members(29)
    for pair in ("AC", "AD", "BC"):  # B and D hear each other; a merge needs A and C.
        world.fault("one-way", *pair)
        world.fault("one-way", *reversed(pair))
    world.start_together("AB")
    world.start_together("CD")
    assert world.is_soon_one("AB") and world.is_soon_one("CD")
    before = [b"before %d" % number for number in range(5)]
    tell(world, "B", "D", *before)
    tell(world, "D", "B", *before)
    world.run_for(SECOND)
    assert world.read_private("B", "D") == world.read_private("D", "B") == []
    assert world.is_one("AB") and world.is_one("CD")
    world.mend()
    assert world.is_soon_one("ABCD")
    after = [b"after %d" % number for number in range(5)]
    tell(world, "B", "D", *after)
    tell(world, "D", "B", *after)
    pairs = [("B", "D"), ("D", "B")]
    assert world.run_until(lambda: all(len(world.read_private(*pair)) == 10 for pair in pairs), 5 * SECOND)
    assert [world.read_private(*pair) for pair in pairs] == [before + after] * 2
