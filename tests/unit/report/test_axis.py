"""The time axis: wide where something happens, short where nothing does, and never backwards."""

from itertools import pairwise

from ringcast.report.axis import MOST, knots


def test_an_idle_hour_is_short_and_a_busy_second_wide() -> None:
    moments = [10.0, 10.5, 11.0, 11.5, 12.0]
    places = dict(knots(moments, 3612.0))
    busy, idle = places[12.0] - places[10.0], 1.0 - places[12.0]
    assert idle < 5 * busy  # 1,800 times as long


def test_places_go_from_0_to_1_and_never_back() -> None:
    for moments in ([], [0.0], [5.0, 5.0, 5.0], [9.0, 1.0, 4.0, 40.0], [n / 7 for n in range(5_000)]):
        found = knots(moments, 40.0)
        assert (found[0], found[-1]) == ((0.0, 0.0), (40.0, 1.0))
        assert all(a[0] < b[0] and a[1] < b[1] for a, b in pairwise(found))
        assert len(found) <= MOST + 2


def test_a_run_without_length_has_an_axis() -> None:
    assert len(knots([0.0], 0.0)) == 2
