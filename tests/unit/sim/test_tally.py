"""The state of a simulated application: what makes two of them equal, and how one travels."""

import pytest

from ringcast.model import Address, ViewId
from ringcast.sim.tally import Tally, merged, read_state, read_tally, written_state

A, B = Address("A", 1, "sim:A"), Address("B", 2, "sim:B")


Read = tuple[Address, list[bytes], bool]


def of(sender: Address, *payloads: bytes) -> Read:
    return sender, list(payloads), False


def ordered(sender: Address, *payloads: bytes) -> Read:
    return sender, list(payloads), True


def tally(*reads: Read) -> Tally:
    made = Tally()
    for sender, payloads, in_order in reads:
        made.read(sender, payloads, in_order=in_order)
    return made


def test_who_read_the_same_of_each_sender_has_the_same_state_whatever_came_in_between() -> None:
    one = tally(of(A, b"1", b"2"), of(B, b"x"))
    other = tally(of(A, b"1"), of(B, b"x"), of(A, b"2"))
    assert one.digest == other.digest


@pytest.mark.parametrize(
    "other",
    [
        tally(of(A, b"1")),
        tally(of(A, b"1", b"2", b"2")),
        tally(of(A, b"2", b"1")),
        tally(of(B, b"1", b"2")),
        tally(ordered(A, b"1", b"2")),
    ],
    ids=["one less", "one twice", "another order", "of another sender", "in the one order"],
)
def test_anything_else_is_another_state(other: Tally) -> None:
    assert other.digest != tally(of(A, b"1", b"2")).digest


def test_the_one_order_counts_over_all_senders() -> None:
    assert tally(ordered(A, b"1"), ordered(B, b"2")).digest != tally(ordered(B, b"2"), ordered(A, b"1")).digest


def test_of_many_the_longest_of_each_sender_is_taken_whatever_the_order_of_the_sides() -> None:
    one, other = tally(of(A, b"1", b"2"), ordered(A, b"x")), tally(of(A, b"1"), of(B, b"3"))
    both = tally(of(A, b"1", b"2"), of(B, b"3"), ordered(A, b"x"))
    assert merged([one, other]).digest == merged([other, one]).digest == both.digest


def test_a_state_says_whose_it_is_and_as_of_which_view() -> None:
    state = tally(of(A, b"1"))
    view = ViewId(3, B)
    who, cut, held = read_state(written_state(A, view, state, 50))
    assert (who, cut, held.digest) == (A, view, state.digest)
    assert read_state(written_state(None, view, state))[0].name == "", "made of many"


@pytest.mark.parametrize("padding", [0, 1, 1_000])
def test_what_was_written_is_read_again_and_goes_on(padding: int) -> None:
    before = tally(of(A, b"1"), ordered(B, b"2"))
    after = read_tally(before.written(padding))
    assert after.digest == before.digest
    for one in (before, after):
        one.read(A, [b"3"])
    assert after.digest == before.digest


WHOLE = tally(of(A, b"1")).written(1_000)


@pytest.mark.parametrize("text", [b"", WHOLE[:10], WHOLE[:-1] + b"?", WHOLE[:200] + WHOLE[300:]])
def test_what_nobody_wrote_is_no_state(text: bytes) -> None:
    with pytest.raises(ValueError, match="state"):
        read_tally(text)
