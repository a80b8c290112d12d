"""Observers are members like any other but never coordinate: cut off they come back; alone, their sends end."""

from __future__ import annotations

import pytest

from ringcast import Order
from ringcast.errors import NotPrimary
from ringcast.testing import World
from simulation.groups import group_of, idle


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("seconds", [2.0, 5.0])
def test_y17_an_observer_that_was_cut_off_comes_back_after_the_heal(seed: int, seconds: float) -> None:
    """Y17: alone it may not make a view; it stays in the old one, suspects the others, and is taken back by a merge."""
    with World(idle, list("ABCO"), seed=seed, observers="O") as world:
        world.isolate("O")
        world.advance(seconds)
        assert len(group_of(world, "A").members) == 3
        world.heal()
        world.agree(limit=8)
        assert sorted(member.name for member in group_of(world, "O").members) == list("ABCO")


@pytest.mark.parametrize("seed", range(4))
def test_y17_two_observers_that_were_cut_off_together_come_back(seed: int) -> None:
    with World(idle, list("ABOP"), seed=seed, observers="OP") as world:
        world.partition("AB", "OP")
        world.advance(4)
        world.heal()
        world.agree(limit=8)


@pytest.mark.parametrize("seed", range(4))
def test_y17_a_paused_observer_comes_back(seed: int) -> None:
    with World(idle, list("ABO"), seed=seed, observers="O") as world:
        world.freeze("O")
        world.advance(9)
        world.thaw("O")
        world.agree(limit=8)


@pytest.mark.parametrize("seed", range(4))
def test_observers_cut_off_one_by_one_come_back_although_each_has_another_dead_voter_in_its_view(seed: int) -> None:
    """Seed 70579: no attempt failed for all the dead, so some were forgiven before the others were left out."""
    with World(idle, list("ABCDEOPQ"), seed=seed, observers="OPQ") as world:
        for observer, voter in zip("OPQ", "CDE", strict=True):
            world.isolate(observer)
            world.advance(2)
            world.crash(voter)
            world.advance(2)
        world.heal()
        world.agree(limit=8)
        assert sorted(member.name for member in group_of(world, "O").members) == list("ABOPQ")


@pytest.mark.parametrize("total", [False, True])
def test_y17_where_only_observers_are_left_sends_end_with_an_error(total: bool) -> None:
    """Y17: the dead are never excluded, for nobody may coordinate; so nothing waits for them either."""
    with World(idle, list("ABOP"), seed=1, observers="OP", bound=30) as world:
        world.crash("A")
        world.crash("B")
        group = group_of(world, "O")
        payloads = 200  # more than the window holds

        async def send() -> None:
            for _ in range(payloads):
                await group.send(b"x", order=Order.TOTAL if total else Order.FIFO)

        with pytest.raises(NotPrimary, match="only observers are left"):
            world.do("O", send(), limit=30)
        world.start("A")
        world.start("B")
        world.agree(limit=20)
        world.do("O", group_of(world, "O").send(b"again"))


def test_judge_words_and_properties_agree_where_only_observers_are_left() -> None:
    """The view stays, with the dead in it: nobody leads, nobody is ready, and nothing of that is a violation (G14)."""
    with World(idle, list("ABOP"), seed=1, observers="OP") as world:
        world.crash("A")
        world.crash("B")
        world.advance(5)
        for name in "OP":
            group = group_of(world, name)
            status = group.status()
            assert group.coordinator is None and [member.name for member in group.members] == list("ABOP")
            assert (status["coordinator"], status["ready"], status["primary"]) == (None, False, False)
            assert "only observers are left" in (status["not_ready_because"] or "")
            assert "only observers are left" in group.explain()


def test_who_comes_where_only_observers_are_left_leads_them() -> None:
    with World(idle, list("ABOP"), seed=2, observers="OP") as world:
        world.crash("A")
        world.crash("B")
        world.advance(5)
        world.start("A")
        world.agree(limit=20)
        for name in "AOP":
            group = group_of(world, name)
            assert group.coordinator is not None and group.coordinator.name == "A" and group.status()["ready"]
