"""Histories for tests and benchmarks are what they say, and the search for a cycle finds one."""

from ringcast.bench.history import Shape, make_period
from ringcast.pipeline.rules.cycles import cycle_in


def test_a_history_is_the_same_for_the_same_seed() -> None:
    shape = Shape(deliveries=2_000)
    assert make_period(7, shape).events == make_period(7, shape).events
    assert make_period(7, shape).events != make_period(8, shape).events


def test_a_default_history_has_the_shape_it_says() -> None:
    period = make_period(1, Shape(deliveries=50_000))
    runs = [event.count for events in period.events for event in events if event.kind.name == "DELIVER"]
    assert sum(runs) / len(runs) <= 16
    total = sum(period.queued) / (sum(period.queued) + sum(period.sent))
    assert 0.2 < total < 0.3


def test_pairwise_agreement_without_one_order_is_found() -> None:
    """a before b at one, b before c at another, c before a at a third: every pair agrees, no order fits."""
    assert cycle_in({0: [1, 2], 1: [2, 3], 2: [3, 1]}) is not None
    assert cycle_in({0: [1, 2], 1: [2, 3], 2: [1, 3]}) is None
    assert cycle_in({0: [1, 2, 3], 1: [4], 2: []}) is None


def test_two_members_with_opposite_orders_are_named() -> None:
    assert cycle_in({7: [1, 2, 3], 9: [1, 3, 2]}) in ((2, 3, 7, 9), (3, 2, 9, 7))
