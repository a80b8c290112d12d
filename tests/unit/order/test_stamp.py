"""Stamps: printable, ordered by view and then by counter, and nothing else passes for one."""

import pytest

from ringcast.order import Stamp


def test_a_stamp_is_read_back_as_it_was_printed() -> None:
    assert Stamp.parse(str(Stamp(7, 1042))) == Stamp(7, 1042)
    assert str(Stamp(7, 1042)) == "7.1042"


def test_the_view_decides_before_the_counter() -> None:
    assert Stamp(1, 99) < Stamp(2, 0) < Stamp(2, 1)


@pytest.mark.parametrize("text", ["", ".", "1", "1.", ".1", "-1.2", "1.2.3", "1. 2", "a.b", "١.٢", "1." + "9" * 30])
def test_anything_else_is_refused_with_what_it_was(text: str) -> None:
    with pytest.raises(ValueError, match="not a stamp"):
        Stamp.parse(text)
