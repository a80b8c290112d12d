"""A transaction word used again, with an eviction at any moment and every stale value: nobody gets another's seq."""

from functools import partial

import pytest

from property.bus_model.explore import Explorer, Program, Thread
from property.bus_model.memory import Memory, Order
from property.bus_model.reuse import INITIAL, ReuseRules, consumer, evictor, producer_program


def explore(rules: ReuseRules) -> int:
    programs: list[Program] = [partial(producer_program, rules), evictor, partial(consumer, rules)]
    explorer = Explorer(programs, private="nothing")
    worlds = explorer.run(Memory.fresh(INITIAL, 3, is_strict=False), [Thread(())] * 3)
    for thread in explorer.threads[2].values:
        assert thread.arguments in ((), (None,), (1,)), f"the first message was delivered with seq {thread.arguments}"
    return worlds


def test_no_message_gets_the_seq_of_the_next_use_of_its_word() -> None:
    assert explore(ReuseRules()) > 100


@pytest.mark.parametrize(
    "broken",
    [
        ReuseRules(waits_for_the_consumer=False),
        ReuseRules(looks_at_itself_afterwards=False),
        ReuseRules(commit=Order.RELAXED),
    ],
    ids=str,
)
def test_a_broken_rule_of_reuse_is_caught(broken: ReuseRules) -> None:
    with pytest.raises(AssertionError, match="was delivered with seq"):
        explore(broken)
