"""Percentiles of round trips: the smallest value that so many do not exceed."""

import pytest

from ringcast.errors import TransportError
from ringcast.lab import percentiles_us


def test_percentiles_of_a_thousand() -> None:
    found = percentiles_us([number * 1000 for number in range(1000, 0, -1)])
    assert found == {"count": 1000, "p50_us": 500.0, "p99_us": 990.0, "p999_us": 999.0, "max_us": 1000.0}


def test_percentiles_of_one_and_of_three() -> None:
    assert percentiles_us([7000]) == {"count": 1, "p50_us": 7.0, "p99_us": 7.0, "p999_us": 7.0, "max_us": 7.0}
    assert percentiles_us([1000, 3000, 2000])["p50_us"] == 2.0


def test_without_a_round_trip_there_are_none() -> None:
    with pytest.raises(TransportError, match="no message came back"):
        percentiles_us([])
