"""One object that machines write their timers to: the first deadline of all, and of each component."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ringcast.core.deadlines import Deadlines


def test_the_whole_knows_the_first_deadline_of_its_parts() -> None:
    whole = Deadlines()
    one, other = whole.part(), whole.part()
    early, late = one.timer(), other.timer()
    early.at_ns, late.at_ns = 5, 9
    assert (whole.first_ns, one.first_ns, other.first_ns) == (5, 5, 9)
    early.at_ns = None
    assert (whole.first_ns, one.first_ns) == (9, None)
    late.at_ns = 7
    assert whole.first_ns == 7


def test_only_the_part_whose_timer_has_come_is_due() -> None:
    whole = Deadlines()
    one, other = whole.part(), whole.part()
    one.timer().at_ns, other.timer().at_ns = 5, 9
    assert one.is_due(5) and not one.is_due(4) and not other.is_due(5)
    assert not whole.part().is_due(99)


@given(st.lists(st.tuples(st.integers(0, 5), st.none() | st.integers(0, 9)), max_size=40))
def test_the_first_is_the_earliest_whatever_is_set_put_off_or_cleared(story: list[tuple[int, int | None]]) -> None:
    whole = Deadlines()
    parts = [whole, whole.part(), whole.part()]
    timers = [parts[number % 3].timer() for number in range(6)]
    for which, at_ns in story:
        timers[which].at_ns = at_ns
        whole.check()
        assert whole.first_ns == min((t.at_ns for t in timers if t.at_ns is not None), default=None)
