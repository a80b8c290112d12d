"""Lengths of messages: one number for many reads like the table it stands for."""

from __future__ import annotations

import pytest

from ringcast.window import Alike, SendWindow, largest, lengths_of, total


def test_messages_of_one_length_need_no_table() -> None:
    assert type(lengths_of([b"ab", b"cd", b"ef"])) is Alike
    assert lengths_of([b"ab", b"c"]) == [2, 1]
    assert lengths_of([]) == []


def test_one_number_for_many_reads_like_a_table() -> None:
    alike, table = Alike(7, 5), [7] * 5
    assert list(alike) == table
    assert list(alike[1:3]) == table[1:3] and list(alike[3:99]) == table[3:99] and len(alike[9:]) == 0
    assert total(alike) == total(table) == 35 and largest(alike) == largest(table) == 7
    with pytest.raises(IndexError):
        alike[5]


@pytest.mark.parametrize("each", [0, 1, 3, 10, 11, 40])
@pytest.mark.parametrize("held", [0, 1, 4])
def test_a_window_has_the_same_room_for_both(each: int, held: int) -> None:
    window: SendWindow[bytes] = SendWindow(6, 30)
    for _ in range(held):
        window.add_run([b"12345"], 5)
    assert window.space.fit(Alike(each, 5)) == window.space.fit([each] * 5)
