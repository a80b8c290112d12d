"""Members' tags and the leader in the simulated world: known to all of a view, through any trouble."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from functools import partial
from random import Random
from typing import Any

import pytest

from ringcast import Batch, RingcastError, UsageError, ViewChange
from ringcast.blocks import Channel, Leader, SharedGroup, Token
from ringcast.blocks.block import Block, Pending
from ringcast.blocks.control import Control
from ringcast.testing import World
from simulation.blocks.kit import FIRST_SEED, SEEDS, Service, cut_and_crash, finish, is_caught, service


def test_tags_are_known_to_all_and_to_newcomers_and_found_by_value() -> None:
    with World(service(list), members=2) as world:
        a, b = (world.apps[name].shared for name in "AB")
        world.do("A", a.tag(role="web", port="80"))
        assert dict(a.tags[a.me]) == {"role": "web", "port": "80"}, "known here when it returns"
        world.start("C")
        world.settle()
        assert world.same(lambda app: app.shared.tagged(role="web")) == [a.me]
        assert b.tagged(role="web", port="81") == [] and b.tags[b.me] == {}
        world.do("A", a.tag(role="db"))
        world.settle()
        assert world.same(lambda app: dict(app.shared.tags[a.me])) == {"role": "db"}
        with pytest.raises(UsageError, match="bytes"):
            world.do("A", a.tag(note="x" * 2000))
        with pytest.raises(UsageError, match="texts by text"):
            world.do("A", a.tag(port=80))


def test_a_new_incarnation_tells_its_tags_again() -> None:
    with World(service(list), members=3, partition="primary") as world:
        for name, app in world.apps.items():
            world.do(name, app.shared.tag(role="web"))
        before = world.same(lambda app: app.shared.members)
        world.isolate("A")
        world.advance(8)
        world.heal()
        world.settle(60)
        world.advance(1)
        after = world.same(lambda app: app.shared.members)
        assert set(after) != set(before)
        assert world.same(lambda app: app.shared.tagged(role="web")) == list(after)


def test_tags_that_are_told_again_do_not_undo_those_that_were_set_meanwhile() -> None:
    """A view made this member tell its tags again; its application sets others before that was sent."""
    with World(service(list), members=2) as world:
        shared = world.apps["A"].shared
        world.do("A", shared.tag(role="old"))

        async def tag() -> None:
            shared._control._tell_again()
            await shared.tag(role="new")

        world.do("A", tag())
        world.settle()
        assert world.same(lambda app: app.shared.tagged(role="new")) == [shared.me]


def test_with_the_tags_that_come_back_those_before_them_are_known() -> None:
    """The first are part of a state that was loaded, so only the second come back."""
    pending = Pending()

    async def both() -> bool:
        (_, first), (second, _) = pending.add(), pending.add()
        pending.settle_up_to(second)
        return first.done()

    assert asyncio.run(both())


@pytest.mark.parametrize("wrong", [8080, object(), 2**70, "\ud800"])
def test_tags_are_texts(wrong: Any) -> None:
    with pytest.raises(UsageError, match="texts by text"):
        Control.check({"role": wrong})


class Tagged(Service):
    """Tags itself again and again, follows the leaders and notes the views."""

    is_done = False

    def make(self) -> list[Block]:
        self.views = Channel("views")
        self.merged = 0  # the number of the last merge view
        self.told: list[tuple[object, Leader]] = []  # in which view, whom
        self.wrong: list[str] = []
        return [self.views]

    async def live(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._follow())
            tasks.create_task(self._look())
            await self._tag(Random(str(self.shared.me)))
            self.is_done = True
            await asyncio.Event().wait()

    async def _tag(self, random: Random) -> None:
        number = 0
        while number < 12:
            await asyncio.sleep(random.random() / 2)
            try:
                await self.shared.tag(who=str(self.shared.me), number=str(number))
                number += 1
            except RingcastError:
                await asyncio.sleep(0.2)

    async def _follow(self) -> None:
        async for leader in self.shared.leaders():
            if self.told and leader.token <= self.told[-1][1].token:
                self.wrong.append(f"{self.shared.me} was told {leader} behind {self.told[-1][1]}")
            if leader.member not in self.shared.members:
                self.wrong.append(f"{leader} is not in {self.shared.view}")
            self.told.append((self.shared.view.id, leader))

    async def _look(self) -> None:
        async for event in self.views:
            if isinstance(event, ViewChange) and event.view.is_merge:
                self.merged = event.view.id.number


def trouble(world: World) -> None:
    world.trouble(5, faults=4)


def troubled(seed: int, story: Callable[[World], None] = trouble) -> list[str]:
    made: list[Tagged] = []

    def make() -> Tagged:
        made.append(Tagged())
        return made[-1]

    with World(make, members=4, seed=seed) as world:
        story(world)
        finish(world, lambda: all(app.is_done for app in world.apps.values()), 12)
        tags = world.same(lambda app: {str(member): dict(found) for member, found in app.shared.tags.items()})
        found = [f"{who}: {found}" for who, found in tags.items() if found != {"who": who, "number": "11"}]
        return [*found, *wrong_leaders(made, world)]


def wrong_leaders(made: list[Tagged], world: World) -> list[str]:
    """One leader in each view, known in the end to all, with a token that is greater than any of before a merge.

    What only processes were told that have ended is of a group that is extinct: views are counted from 1 again.
    """
    found = [sentence for app in made for sentence in app.wrong]
    of_view: dict[object, Leader] = {}
    for app in made:
        for view, leader in app.told:
            if of_view.setdefault(view, leader) != leader:
                found.append(f"{leader} and {of_view[view]} lead in {view}")
    last = world.same(lambda app: app.shared.leader)
    newest = max(leader.token for app in world.apps.values() for _, leader in app.told)
    if last.token < newest:
        found.append(f"{last} leads in the end, and there was {newest}")
    for name, app in world.apps.items():
        _, told = app.told[-1]
        if told.member != last.member or told.token.view < app.merged:
            found.append(f"{name} was last told {told}; {last} leads, the last merge was {app.merged}")
    return found


# 156: a merged state came before the merge view, and was confirmed to the old coordinator: nobody could join any more.
@pytest.mark.parametrize("seed", [156, *range(FIRST_SEED, FIRST_SEED + SEEDS)])
def test_whatever_goes_wrong_everybody_knows_the_last_tags_of_all_and_who_leads(seed: int) -> None:
    assert troubled(seed) == []


def _one_side_wins(self: Any, sides: Any) -> bytes:
    return next(iter(sides.values()))  # type: ignore[no-any-return]


async def _no_state(self: Any, state: bytes) -> None:
    pass


def _first_stay(self: Control, batch: Batch) -> None:
    before = dict(self.tags)
    right_on_batch(self, batch)
    self.tags.update(before)


def _i_lead(self: SharedGroup) -> Leader:
    return Leader(self.me, Token(self.view.id.number, 0))


def _counts_views(self: SharedGroup) -> Leader:
    return Leader(self.view.coordinator, Token(0, self._views))


async def _only_others(self: SharedGroup) -> AsyncIterator[Leader]:
    told: Leader | None = None
    while self._ended is None:
        if told is None or told.member != self.leader.member:
            told = self.leader
            yield told
        await self._until_changed()


def late_cut(world: World) -> None:
    """Nobody tags itself again behind the merge."""
    world.advance(15)
    world.partition("AB")
    world.advance(5)
    world.heal()


right_on_batch: Callable[..., None] = Control._on_batch
PLANTED: dict[str, tuple[type, str, Any]] = {
    "tags: one side wins the merge": (Control, "_merge", _one_side_wins),
    "tags: a newcomer gets none": (Control, "_load", _no_state),
    "tags: the first ones stay": (Control, "_on_batch", _first_stay),
    "leader: each member leads": (SharedGroup, "leader", property(_i_lead)),
    "leader: its token counts the views of one member": (SharedGroup, "leader", property(_counts_views)),
    "leader: the feed does not tell of a merge": (SharedGroup, "leaders", _only_others),
}


@pytest.mark.parametrize("mistake", PLANTED)
def test_a_planted_mistake_is_caught(mistake: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(*PLANTED[mistake])
    assert any(is_caught(partial(troubled, 0, story)) for story in (cut_and_crash, late_cut))
