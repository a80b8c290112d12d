"""Columns in the data of a fact, and digests of runs: small and exact."""

from __future__ import annotations

import pytest

pytest.importorskip("numpy", reason="the pipeline needs numpy: pip install 'ringcast[pipeline]'")

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ringcast.pipeline.rules.digest import salts_of, total, values_of
from ringcast.pipeline.rules.packed import pack_columns, unpack_columns

NUMBERS = st.one_of(
    st.integers(-(1 << 63), (1 << 63) - 1), st.integers(-300, 300), st.integers(1 << 40, (1 << 40) + 70_000)
)


@st.composite
def columns(draw: st.DrawFn) -> list[list[int]]:
    rows, count = draw(st.integers(0, 20)), draw(st.integers(1, 5))
    found = [draw(st.lists(NUMBERS, min_size=rows, max_size=rows)) for _ in range(count)]
    return [found[draw(st.integers(0, at))] for at in range(count)]  # some are equal to the one before


@given(columns())
def test_columns_come_back_as_they_were(given_columns: list[list[int]]) -> None:
    data = pack_columns(*(np.array(column, dtype=np.int64) for column in given_columns))
    assert [column.tolist() for column in unpack_columns(data, len(given_columns))] == given_columns


def test_a_column_costs_as_many_bytes_as_its_numbers_differ() -> None:
    stamps = 1_000_000_000_000 + np.arange(1000) * 50
    assert len(pack_columns(stamps, stamps)) < 2 * 1000 + 50


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(1, 40), st.integers(1, 9), st.integers(1, 99)), max_size=30))
def test_the_digest_of_runs_is_that_of_their_parts(runs: list[tuple[int, int, int, int]]) -> None:
    """Numbers close together, as here, and each run alone, where they are not, take different ways."""
    salts = salts_of(["a", "b", "c"])
    sender, first, count, seq = (np.array([run[at] for run in runs], dtype=np.int64) for at in range(4))
    whole = [total(half) for half in values_of(salts, sender, first, first + count - 1, seq)]
    parts = [0, 0]
    for who, begin, length, place in runs:
        for number in range(begin, begin + length):
            arrays = (np.array([value]) for value in (who, number, number, place))
            parts = [one + total(half) for one, half in zip(parts, values_of(salts, *arrays), strict=True)]
    assert [part % (1 << 64) for part in parts] == [half % (1 << 64) for half in whole]
