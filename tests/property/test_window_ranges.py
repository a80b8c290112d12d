"""Ranges against a plain set."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ringcast.window import Ranges

SPANS = st.tuples(st.integers(-5, 30), st.integers(-1, 8)).map(lambda span: (span[0], span[0] + span[1]))
CHANGES = st.tuples(st.sampled_from(["add", "drop_above", "pop_first"]), SPANS)


@given(st.lists(CHANGES), SPANS)
def test_ranges_are_a_set_of_seqnos(changes: list[tuple[str, tuple[int, int]]], asked: tuple[int, int]) -> None:
    ranges, model = Ranges(), set[int]()
    for name, (first, last) in changes:
        if name == "add":
            ranges.add(first, last)
            model |= set(range(first, last + 1))
        elif name == "drop_above":
            ranges.drop_above(first)
            model = {seqno for seqno in model if seqno <= first}
        elif model:
            first, last = ranges.pop_first()
            assert first == min(model) and last + 1 not in model
            model -= set(range(first, last + 1))
        ranges.check()
        assert [seqno for first, last in ranges for seqno in range(first, last + 1)] == sorted(model)
    assert all((seqno in ranges) == (seqno in model) for seqno in range(-6, 40))
    gaps = [seqno for first, last in ranges.gaps(*asked) for seqno in range(first, last + 1)]
    assert gaps == [seqno for seqno in range(asked[0], asked[1] + 1) if seqno not in model]
