"""Two sleepers and two ringers of one bell in every interleaving: nobody sleeps through what it waits for (O08)."""

from functools import partial

import pytest

from property.bus_model.bell import INITIAL, BellRules, ringer, sleeper
from property.bus_model.explore import Explorer, Program, Thread
from property.bus_model.memory import Memory

RINGERS = 2


def explore(rules: BellRules, wanted: tuple[int, ...]) -> int:
    """Sleepers that wait for so many letters, of two that come."""
    programs: list[Program] = [partial(ringer, rules)] * RINGERS + [partial(sleeper, rules) for _ in wanted]
    explorer = Explorer(programs, private="nothing")
    threads = [Thread(())] * RINGERS + [Thread((me, letters)) for me, letters in enumerate(wanted)]
    worlds = explorer.run(Memory.fresh(INITIAL, len(programs), is_strict=True), threads)
    for world in explorer.worlds:
        states = [explorer.threads[index].values[number] for index, number in enumerate(world[1:])]
        if all(explorer.has_ended(index, states[index]) for index in range(RINGERS)):
            _, asleep = explorer.memories.values[world[0]].newest("futex")
            assert not asleep, f"{asleep} sleep although all letters are there"
    return worlds


@pytest.mark.parametrize("wanted", [(1,), (2,), (1, 2), (2, 2)], ids=str)
def test_whoever_waits_is_woken_in_every_interleaving(wanted: tuple[int, ...]) -> None:
    assert explore(BellRules(), wanted) > 50


@pytest.mark.parametrize(
    "broken",
    [
        BellRules(looks_after_saying_so=False),
        BellRules(reads_the_value_first=False),
        BellRules(rings_after_the_change=False),
        BellRules(wakes_all=False),
    ],
    ids=str,
)
def test_a_broken_rule_of_the_bell_is_caught(broken: BellRules) -> None:
    with pytest.raises(AssertionError, match="sleep although all letters are there"):
        explore(broken, (2, 2))
