"""Renewals: who comes back for the state, and what happens to the others meanwhile."""

from ringcast.model import SECOND
from ringcast.sim import draw
from ringcast.sim.cluster import names_of
from ringcast.sim.fault_draws import draw_renewals

SAFETY_NS = 10 * SECOND


def test_every_seed_has_some_who_begin_anew_and_trouble_for_others_while_they_load() -> None:
    for seed in range(50):
        renewals = draw_renewals(seed, names_of(3), SAFETY_NS)
        assert renewals == draw_renewals(seed, names_of(3), SAFETY_NS)
        assert sum(fault.kind == "crash" for fault in renewals) >= 2
        assert all(fault.until_ns <= SAFETY_NS for fault in renewals)
        first, *rest = renewals
        assert any(fault.members != first.members for fault in rest)


def test_a_group_of_one_has_nobody_else_to_trouble() -> None:
    assert {fault.members for fault in draw_renewals(1, ["A"], SAFETY_NS)} == {("A",)}


def test_the_same_seed_without_state_is_what_it_is_without_them() -> None:
    for seed in range(20):
        mixed, state = draw(seed), draw(seed, workload="state")
        assert state.faults[: len(state.faults)] != mixed.faults and set(mixed.faults) <= set(state.faults)
        assert (mixed.link, mixed.members, mixed.safety_ns) == (state.link, state.members, state.safety_ns)
        assert mixed.state is None and state.state is not None and state.config.self_delivery
