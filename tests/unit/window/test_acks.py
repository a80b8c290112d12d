"""The ack map: who holds the window back, and what all have."""

import pytest

from ringcast.window import AckMap, SendWindow


def test_a01_members_that_never_acked_hold_the_minimum_back() -> None:
    """A01: view {A,B,C,D}: four entries at once; one ack purges nothing."""
    acks = AckMap({"A": 0, "B": 0, "C": 0, "D": 0})
    assert (len(acks), acks.minimum) == (4, 0)
    assert acks.on_ack("B", 10) is False
    assert acks.minimum == 0
    window: SendWindow[int] = SendWindow(20, 1000)
    window.add_run(list(range(1, 11)), 10)
    assert window.purge(acks.minimum) == 0


def test_a03_the_minimum_follows_leaves_and_joins() -> None:
    """A03: a=200,b=250,c=500,d=600 -> 200; b leaves -> 200; a leaves -> 500; both rejoin -> 0; clear -> 0."""
    acks = AckMap({"a": 200, "b": 250, "c": 500, "d": 600})
    assert acks.minimum == 200
    assert acks.set_members({"a": 0, "c": 0, "d": 0}) is False
    assert acks.minimum == 200
    assert acks.set_members({"c": 0, "d": 0}) is True
    assert acks.minimum == 500
    assert acks.set_members({"a": 0, "b": 0, "c": 0, "d": 0}) is False
    assert (acks.minimum, acks.get("c"), acks.get("a")) == (0, 500, 0)
    acks.set_members({})
    assert (acks.minimum, len(acks)) == (0, 0)


def test_a_minimum_that_falls_gives_nothing_back_to_the_window() -> None:
    window: SendWindow[int] = SendWindow(10, 1000)
    window.add_run([1, 2, 3], 3)
    acks = AckMap({"a": 2})
    window.purge(acks.minimum)
    acks.set_members({"a": 0, "b": 0})
    assert window.purge(acks.minimum) == 0
    assert (window.low, window.high) == (2, 3)


def test_newcomers_start_at_the_offset_they_were_given() -> None:
    acks = AckMap({"a": 7})
    assert acks.set_members({"a": 9, "b": 9}) is False
    assert (acks.get("a"), acks.get("b"), acks.minimum) == (7, 9, 7)


def test_the_minimum_rises_only_when_the_last_of_those_on_it_acks() -> None:
    acks = AckMap({"a": 0, "b": 0, "c": 5})
    assert acks.on_ack("a", 9) is False
    assert acks.on_ack("b", 3) is True
    assert acks.minimum == 3
    assert acks.on_ack("b", 8) is True
    assert acks.minimum == 5
    assert acks.laggards() == ["c"]


def test_an_ack_of_somebody_ahead_changes_no_minimum() -> None:
    acks = AckMap({"a": 1, "b": 5})
    assert acks.on_ack("b", 6) is False
    assert (acks.minimum, acks.get("b")) == (1, 6)


@pytest.mark.parametrize(("who", "upto"), [("stranger", 99), ("a", 4), ("a", 5), ("a", -1)])
def test_a_stranger_or_a_late_ack_leaves_the_map_as_it_was(who: str, upto: int) -> None:
    acks = AckMap({"a": 5, "b": 7})
    assert acks.on_ack(who, upto) is False
    assert (len(acks), acks.minimum, acks.get("a"), acks.get("b"), acks.get("stranger")) == (2, 5, 5, 7, None)


def test_laggards_are_listed_in_the_order_of_the_view() -> None:
    assert AckMap({"d": 1, "b": 2, "a": 1, "c": 1}).laggards() == ["d", "a", "c"]


def test_the_map_keeps_no_hold_on_the_mapping_it_was_given() -> None:
    offsets = {"a": 5}
    acks = AckMap(offsets)
    offsets["b"] = 0
    assert (len(acks), acks.minimum) == (1, 5)


@pytest.mark.parametrize(("field", "value"), [("minimum", 4), ("_at_minimum", 2)])
def test_check_finds_a_wrong_cache(field: str, value: int) -> None:
    acks = AckMap({"a": 5, "b": 7})
    acks.check()
    setattr(acks, field, value)
    with pytest.raises(AssertionError):
        acks.check()
