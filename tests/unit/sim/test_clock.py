"""Virtual time: order, ties, and clocks that are wrong."""

from hypothesis import given
from hypothesis import strategies as st

from ringcast.sim import Clock, LocalClock


def test_things_happen_in_the_order_of_time_and_ties_in_the_order_of_planning() -> None:
    clock = Clock()
    happened: list[tuple[int, str]] = []

    def note(what: str) -> None:
        happened.append((clock.now_ns, what))

    clock.at(20, note, "late")
    clock.at(10, note, "first of two")
    clock.at(10, note, "second of two")
    clock.run_until(30)
    assert happened == [(10, "first of two"), (10, "second of two"), (20, "late")]
    assert clock.now_ns == 30


def test_what_is_planned_while_something_happens_comes_in_its_turn() -> None:
    clock = Clock()
    happened: list[int] = []

    def again() -> None:
        happened.append(clock.now_ns)
        if len(happened) < 4:
            clock.after(5, again)

    clock.at(0, again)
    clock.run_until(12)
    assert happened == [0, 5, 10]
    assert clock.next_ns == 15


def test_the_past_is_now() -> None:
    clock = Clock()
    clock.run_until(100)
    clock.at(50, lambda: None)
    assert clock.next_ns == 100


def test_a_step_without_anything_planned_does_nothing() -> None:
    clock = Clock()
    assert not clock.step()
    clock.at(7, lambda: None)
    assert clock.step()
    assert clock.now_ns == 7


@given(
    st.lists(st.tuples(st.integers(0, 10**10), st.integers(-999_999, 3_000_000)), max_size=6),
    st.integers(0, 10**12),
)
def test_a_local_clock_never_goes_back_and_its_alarms_come_in_time(
    changes: list[tuple[int, int]], wanted_ns: int
) -> None:
    local = LocalClock()
    now_ns = shown_ns = 0
    for pause_ns, rate in changes:
        now_ns += pause_ns
        assert local.local(now_ns) >= shown_ns
        local.set_rate(now_ns, rate)
        shown_ns = local.local(now_ns)
    wanted_ns += shown_ns
    due_ns = local.when(wanted_ns)
    assert local.local(due_ns) >= wanted_ns
    assert due_ns == now_ns or local.local(due_ns - 1) < wanted_ns


def test_a_clock_that_was_never_touched_is_true() -> None:
    local = LocalClock()
    assert local.is_true
    local.set_rate(1000, 500_000)
    assert not local.is_true
    assert local.local(3000) == 1000 + 3000


def test_a_run_ends_when_it_is_done_when_somebody_complains_or_when_time_stands_still() -> None:
    clock, said = Clock(), [""]

    def spin() -> None:
        clock.at(clock.now_ns, spin)

    clock.at(1, said.append, "a")
    clock.at(2, said.append, "b")
    assert clock.run(5, lambda: said[-1] == "a", [], 9) is True and clock.now_ns == 1
    assert clock.run(5, None, [], 9) is False and clock.now_ns == 5 and said == ["", "a", "b"]
    complaints: list[str] = []
    clock.at(6, complaints.append, "broken")
    clock.at(7, said.append, "c")
    assert clock.run(9, None, complaints, 9) is None and clock.now_ns == 6
    clock.at(7, spin)
    assert clock.run(9, None, [], 9) is None and clock.now_ns == 7 and said[-1] == "c"
