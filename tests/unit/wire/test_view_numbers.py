"""Y21: a view number that no group reaches is refused on the way in, in the header and in control messages."""

import pytest

from ringcast.core import Drop, Loose, Run
from ringcast.core.control import Answer, Ask, Join, NewView, RollCallId
from ringcast.core.packets import Channel
from ringcast.model import Address, Entry, ViewId
from ringcast.wire import Codec, decode_control, encode_control
from ringcast.wire.limits import MAX_VIEW_NUMBER

A, B = Address("A", 1, "a:1"), Address("B", 1, "b:1")


@pytest.mark.parametrize("number", [MAX_VIEW_NUMBER + 1, 2**62, 2**63 - 1])
def test_an_ask_that_names_such_a_view_is_dropped(number: int) -> None:
    ask = Ask(RollCallId(ViewId(number, A), 0, 1), (), ())
    dropped = decode_control(encode_control(ask))
    assert isinstance(dropped, Drop)
    assert "view number" in dropped.reason
    assert isinstance(Codec("g", B).decode(Codec("g", A).encode(Loose(ask))), Drop)


def test_a_run_of_such_a_view_is_dropped() -> None:
    run = Run(Channel.GROUP, ViewId(2**63 - 1, A), A, 1, 0, [b"x"], 1)
    assert isinstance(Codec("g", B).decode(Codec("g", A).encode(run)), Drop)


def test_the_largest_number_is_read() -> None:
    ask = Ask(RollCallId(ViewId(MAX_VIEW_NUMBER, A), 0, 1), (), ())
    assert decode_control(encode_control(ask)) == ask


@pytest.mark.parametrize(("capacity", "window_bytes"), [(2**33, 1), (2**20 + 1, 1), (1, 2**34 + 1), (2**62, 2**62)])
def test_a_window_that_no_config_has_is_refused(capacity: int, window_bytes: int) -> None:
    """What a view says of its windows is allocated: 2^33 slots would be 64 GiB."""
    entries, roll_call = (Entry(0, 0, 0),), RollCallId(ViewId(1, A), 0, 1)
    for message in (
        Join(False, False, capacity, window_bytes),
        NewView(roll_call, ViewId(2, A), (A,), (), (), capacity, window_bytes, entries, ()),
        Answer(roll_call, Entry(0, 0, 0), (), 1, capacity, window_bytes),
    ):
        dropped = decode_control(encode_control(message))
        assert isinstance(dropped, Drop), message


def test_an_offset_from_which_a_window_would_overflow_is_refused() -> None:
    roll_call = RollCallId(ViewId(1, A), 0, 1)
    answer = Answer(roll_call, Entry(0, 2**63 - 2, 2**63 - 2), (), 1, 1, 1)
    assert isinstance(decode_control(encode_control(answer)), Drop)
