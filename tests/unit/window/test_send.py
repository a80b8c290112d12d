"""The send window: room before seqnos, held until acked by all."""

import pytest

from ringcast.window import SendWindow, Space


def window_with(count: int, capacity: int = 10, max_bytes: int = 1000, offset: int = 0) -> SendWindow[int]:
    """`count` messages of one byte, each its own seqno as payload."""
    window: SendWindow[int] = SendWindow(capacity, max_bytes, offset)
    if count:
        window.add_run(list(range(offset + 1, offset + count + 1)), count)
    return window


def state(window: SendWindow[int]) -> tuple[object, ...]:
    window.check()
    return window.low, window.high, window.bytes, window.capacity, window.bound, contents(window)


def contents(window: SendWindow[int]) -> list[int]:
    return window.get_run(window.low + 1, window.high)


def test_w06_exactly_capacity_messages_fit() -> None:
    """W06: capacity 10: ten fit, the eleventh does not."""
    window = window_with(9)
    assert (window.space.slots, window.space.takes(1, 1), window.space.takes(2, 2)) == (1, True, False)
    assert window.add_run([10], 1) == 10
    assert (window.space.slots, window.space.takes(1, 1), window.occupancy) == (0, False, 10)


def test_w07_an_ack_makes_room_for_the_message_that_waits() -> None:
    """W07: the window's part; the waiting itself is tested with Group.send."""
    window = window_with(10)
    assert not window.space.takes(1, 1)
    assert window.purge(1) == 1
    assert window.space.takes(1, 1)
    assert window.add_run([11], 1) == 11
    assert contents(window) == list(range(2, 12))


def test_w08_a_send_that_gives_up_has_taken_nothing() -> None:
    """W08, X3: asking for room changes nothing; the waiting, closing and cancelling are tested with Group.send."""
    window = window_with(10)
    before = state(window)
    window.space.takes(1, 1), window.space.fit([1, 1])
    assert state(window) == before
    window.purge(5)
    assert [window.add_run([seqno], 1) for seqno in range(11, 16)] == [11, 12, 13, 14, 15]
    assert window.space.fit([1] * 5) == 0
    window.purge(15)
    assert window.add_run(list(range(16, 26)), 10) == 16
    assert window.space.slots == 0


def test_w17_purging_an_empty_window_purges_nothing() -> None:
    """W17: an ack beyond what was sent counts as all of it, never more."""
    window = window_with(0)
    assert [window.purge(upto) for upto in (0, 1, 5, 32)] == [0, 0, 0, 0]
    assert (window.low, window.high) == (0, 0)
    window = window_with(10)
    assert window.purge(5) == 5
    assert contents(window) == [6, 7, 8, 9, 10]
    assert window.purge(32) == 5
    assert (window.low, window.high) == (10, 10)


def test_w18_purge_counts_what_it_dropped() -> None:
    """W18: offset 5, 6 and 7: purge(4)=0, (5)=0, (6)=1, (7)=1."""
    window = window_with(2, offset=5)
    assert [window.purge(upto) for upto in (4, 5, 6, 7)] == [0, 0, 1, 1]


def test_w19_a_late_purge_is_ignored() -> None:
    """W19: 1..30, purge 20, purge 15 ignored."""
    window = window_with(30, capacity=30)
    assert window.purge(20) == 20
    assert window.purge(15) == 0
    assert (window.low, window.high) == (20, 30)
    assert contents(window) == list(range(21, 31))


@pytest.mark.parametrize("offset", [2**63 - 11, -10])
def test_w22_numbers_at_the_edge_of_the_wire_width_are_ordinary(offset: int) -> None:
    """W22."""
    window = window_with(20, capacity=32, offset=offset)
    assert (window.occupancy, contents(window)) == (20, list(range(offset + 1, offset + 21)))
    assert window.purge(offset + 20) == 20
    assert (window.low, window.high) == (offset + 20, offset + 20)


def test_w25_a_hundred_adds_of_one_take_a_hundred_seqnos() -> None:
    """W25: the core is single-threaded; concurrent senders are tested with Group.send."""
    window = window_with(0, capacity=100)
    assert [window.add_run([seqno], 1) for seqno in range(1, 101)] == list(range(1, 101))
    assert (window.occupancy, window.space.slots) == (100, 0)


def test_room_follows_the_window_round_the_ring() -> None:
    window = window_with(0, capacity=4)
    for first in range(1, 100, 3):
        assert window.add_run([first, first + 1, first + 2], 3) == first
        assert contents(window) == [first, first + 1, first + 2]
        assert window.space.slots == 1
        window.purge(first + 2)
        assert window.space.slots == 4


def test_bytes_bind_before_slots_do() -> None:
    window = window_with(0, max_bytes=100)
    window.add_run([1], 60)
    assert (window.space.takes(1, 40), window.space.takes(1, 41), window.space.slots) == (True, False, 9)
    window.add_run([2], 40)
    assert (window.space.nbytes, window.space.takes(1, 0)) == (0, True)
    window.purge(1)
    assert (window.bytes, window.space.slots) == (40, 9)


def test_one_message_always_fits_an_empty_window() -> None:
    window = window_with(0, max_bytes=100)
    assert (window.space.takes(1, 500), window.space.takes(2, 500), window.space.fit([500, 1])) == (True, False, 1)
    window.add_run([1], 500)
    assert window.space == Space(9, -400, is_empty=False)
    assert (window.space.takes(1, 1), window.space.fit([1])) == (False, 0)
    window.purge(1)
    assert window.space.slots == 10


def test_the_pieces_of_one_message_fit_an_empty_window_together() -> None:
    window = window_with(0, max_bytes=100)
    assert window.space.takes(3, 500, together=True)
    assert not window.space.takes(11, 500, together=True)
    assert window.add_run([1, 2, 3], 500, together=True) == 1
    assert not window.space.takes(3, 500, together=True)
    window.check()


@pytest.mark.parametrize(
    ("sizes", "fits"),
    [
        ([], 0),
        ([10], 1),
        ([50, 50], 2),
        ([50, 51], 1),
        ([101, 1], 0),
        ([1] * 9, 9),
        ([1] * 20, 9),
        ([20] * 20, 5),
        ([0] * 20, 9),
    ],
)
def test_fit_counts_the_leading_messages_that_fit(sizes: list[int], fits: int) -> None:
    window = window_with(0, max_bytes=101)
    window.add_run([1], 1)
    assert window.space.fit(sizes) == fits


def test_a_partly_purged_run_counts_in_full() -> None:
    """Bytes are kept per run; counting too much is safe, counting too little would not be."""
    window = window_with(0)
    window.add_run([1, 2, 3], 300)
    window.add_run([4], 50)
    window.purge(2)
    assert window.bytes == 350
    window.purge(3)
    assert window.bytes == 50
    window.purge(4)
    assert window.bytes == 0


def test_one_purge_may_end_many_runs() -> None:
    window = window_with(0)
    for seqno in range(1, 6):
        window.add_run([seqno], seqno)
    assert window.purge(4) == 4
    assert window.bytes == 5


@pytest.mark.parametrize(
    ("first", "last", "held"),
    [(4, 6, [4, 5, 6]), (3, 6, []), (6, 99, [6, 7]), (7, 7, [7]), (8, 9, []), (6, 5, [])],
)
def test_a_run_for_retransmission_is_what_is_held_from_its_first_on(first: int, last: int, held: list[int]) -> None:
    window = window_with(7)
    window.purge(3)
    assert window.get_run(first, last) == held


@pytest.mark.parametrize(("items", "nbytes"), [([9, 10, 11], 3), ([9], 1000), ([], 0)])
def test_adding_without_room_is_our_own_bug_and_changes_nothing(items: list[int], nbytes: int) -> None:
    window = window_with(8)
    before = state(window)
    with pytest.raises(AssertionError, match="no room"):
        window.add_run(items, nbytes)
    assert state(window) == before


def test_a_ring_grows_at_once_with_what_it_holds() -> None:
    window = window_with(10)
    window.purge(7)
    assert window.resize(25) is True
    assert (contents(window), window.space.slots, window.capacity) == ([8, 9, 10], 22, 25)
    window.add_run(list(range(11, 33)), 22)
    assert contents(window) == list(range(8, 33))


def test_a_ring_is_not_shrunk_while_it_holds_anything_but_binds_at_once() -> None:
    window = window_with(6)
    assert window.resize(4) is False
    assert (window.capacity, window.space.slots) == (10, 0)
    window.purge(3)
    assert (window.capacity, window.space.slots, window.space.fit([1, 1])) == (10, 1, 1)
    assert window.add_run([7], 1) == 7
    window.check()
    window.purge(7)
    assert (window.capacity, window.space.slots) == (4, 4)
    window.check()


def test_an_awaited_shrink_can_be_taken_back() -> None:
    window = window_with(6)
    window.resize(4)
    assert window.resize(10) is True
    assert window.space.slots == 4


def test_an_empty_ring_shrinks_at_once() -> None:
    window = window_with(6)
    window.purge(6)
    assert window.resize(4) is True
    assert (window.capacity, window.space.slots) == (4, 4)


@pytest.mark.parametrize("capacity", [0, -1])
def test_a_resize_to_nothing_is_refused_and_changes_nothing(capacity: int) -> None:
    window = window_with(6)
    before = state(window)
    with pytest.raises(ValueError, match=f"at least 1, not {capacity}"):
        window.resize(capacity)
    assert state(window) == before


@pytest.mark.parametrize(("capacity", "max_bytes"), [(0, 100), (-1, 100), (10, 0)])
def test_a_window_without_room_for_anything_is_refused(capacity: int, max_bytes: int) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        SendWindow(capacity, max_bytes)


@pytest.mark.parametrize(
    ("field", "value"),
    [("low", -6), ("low", 7), ("high", 5), ("high", 12), ("bytes", 1), ("bound", 0), ("bound", 11), ("max_bytes", 1)],
)
def test_check_finds_a_broken_window(field: str, value: int) -> None:
    window = window_with(5)
    window.add_run([6], 1)
    window.check()
    setattr(window, field, value)
    with pytest.raises(AssertionError):
        window.check()
