"""Ordered messages to some members, at one of them that has no state yet: after a merge that came before its state."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping

import pytest

from ringcast import TOTAL, Address, Group, Message
from ringcast.testing import World


class Ledger:
    def __init__(self) -> None:
        self.entries: list[str] = []
        self.loads = 0

    def get_state(self) -> bytes:
        return "\n".join(self.entries).encode()

    async def set_state(self, chunks: AsyncIterator[bytes]) -> None:
        self.loads += 1
        self.entries = (b"".join([chunk async for chunk in chunks])).decode().splitlines()

    def merge_state(self, sides: Mapping[tuple[Address, ...], bytes]) -> bytes:
        entries = {line for state in sides.values() for line in state.decode().splitlines()}
        return "\n".join(sorted(entries)).encode()

    async def run(self, group: Group) -> None:
        async for event in group:
            if isinstance(event, Message):
                self.entries.append(event.payload.decode())


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("crashing", [None, "A", "B"])
def test_an_ordered_message_to_some_is_read_behind_the_merged_state_unless_its_giver_got_it(
    crashing: str | None, seed: int
) -> None:
    """D waits for its state when a merge comes; who merges or gives may die then, and another one does it."""
    with World(Ledger, list("ABC"), seed=seed, bound=30) as world:
        world.start("D")
        held = world.hold("state", to="D")
        group = world["B"].group
        assert group is not None
        assert world.run_until(lambda: len(group.members) == 4)
        at = {member.name: member for member in group.members}
        sent = {}
        for names in ("AD", "BD", "CD", "ABCD", "D"):
            sent[names] = f"to {names}"
            world.do("B", group.send(sent[names].encode(), to=[at[name] for name in names], order=TOTAL))
        world.isolate("C")
        assert world.run_until(lambda: len(group.members) == 3)
        world.do("B", group.send(b"apart", to=[at["B"], at["D"]], order=TOTAL))
        for fault in list(world.faults.active):
            world.faults.end(fault)
        assert world.run_until(lambda: len(group.members) == 4)
        if crashing is not None:
            world.crash(crashing)
        held.end()
        world.heal()
        world.settle(120)
        world.advance(5)
        d = world.apps["D"].entries
        assert len(d) == len(set(d)), d
        lost = [text for names, text in sent.items() if text not in d]
        assert not lost, (lost, d)
        assert "apart" in d
