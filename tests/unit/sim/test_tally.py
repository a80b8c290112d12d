"""The state of a simulated application: what makes two of them equal, and how one travels."""

import pytest

from ringcast.core import Channel, Deliver, Dequeue
from ringcast.model import Address
from ringcast.sim.tally import Tally, read_tally

A, B = Address("A", 1, "sim:A"), Address("B", 2, "sim:B")


def of(sender: Address, *payloads: bytes, channel: Channel = Channel.GROUP) -> Deliver:
    return Deliver(sender, channel, list(payloads), 1, len(payloads), 0)


def ordered(sender: Address, *payloads: bytes) -> Deliver:
    return Dequeue(sender, Channel.GROUP, list(payloads), 1, len(payloads), 0)


def tally(*deliveries: Deliver) -> Tally:
    made = Tally()
    for delivery in deliveries:
        made.read(delivery)
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


def test_what_went_to_some_members_only_is_no_part_of_it() -> None:
    assert tally(of(A, b"1", channel=Channel.PEER)).digest == Tally().digest


@pytest.mark.parametrize("padding", [0, 1, 1_000])
def test_what_was_written_is_read_again_and_goes_on(padding: int) -> None:
    before = tally(of(A, b"1"), ordered(B, b"2"))
    after = read_tally(before.written(padding))
    assert after.digest == before.digest
    for one in (before, after):
        one.read(of(A, b"3"))
    assert after.digest == before.digest


WHOLE = tally(of(A, b"1")).written(1_000)


@pytest.mark.parametrize("text", [b"", WHOLE[:10], WHOLE[:-1] + b"?", WHOLE[:200] + WHOLE[300:]])
def test_what_nobody_wrote_is_no_state(text: bytes) -> None:
    with pytest.raises(ValueError, match="state"):
        read_tally(text)
