"""Control messages survive the wire, and bad bytes become a Drop, never an exception."""

from __future__ import annotations

import gc

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringcast.core import MAX_WORDS, Drop
from ringcast.core.control import (
    DECLARED,
    Announce,
    Ask,
    Control,
    Heartbeat,
    Join,
    JoinRefused,
    NewView,
    Refusal,
    RollCallId,
    StateConfirmed,
    Suspicion,
)
from ringcast.model import Address, Entry, ViewId
from ringcast.wire import decode_control, encode_control
from ringcast.wire.control import _TYPES

A, B = (Address(name, 1, f"mem:{name}") for name in "AB")
V = ViewId(3, A)
VIEW = NewView(RollCallId(V, 0, 2), ViewId(4, A), (A, B), (), (), 64, 1_000, (Entry(1, 2, 3), Entry(0, 0, 0)), (2, 0))


@given(st.one_of(*map(st.from_type, DECLARED)) | st.builds(Announce, st.none(), st.none()))
def test_whatever_is_encoded_is_decoded_or_out_of_bounds(message: Control) -> None:
    try:
        data = encode_control(message)
    except (OverflowError, UnicodeEncodeError):
        return
    decoded = decode_control(data)
    assert decoded == message or isinstance(decoded, Drop)


@pytest.mark.parametrize(
    "message", [VIEW, Join(True, False, 64, 1_000), Heartbeat(V, 7), Ask(RollCallId(V, 0, 1), (B,), ())]
)
def test_usual_messages_come_back_as_they_were(message: Control) -> None:
    assert decode_control(encode_control(message)) == message


@pytest.mark.parametrize("text", ["x" * 5_000, "two\nlines", "\x1b[2J", "\x00" * 512, "\udc80", "M12#3, " * 200])
def test_a_reason_is_one_printable_line_whoever_made_it(text: str) -> None:
    for made in (Refusal(RollCallId(V, 0, 1), text), StateConfirmed(text)):
        decoded = decode_control(encode_control(made))
        assert decoded == made
        said = made.why if isinstance(made, Refusal) else made.error
        assert said.isprintable() and 0 < len(said) <= MAX_WORDS


def test_a_reason_that_a_liar_encoded_by_itself_is_made_printable_when_it_is_read() -> None:
    read = decode_control(_TYPES[JoinRefused] + msgspec.msgpack.encode({"why": "\x1b]0;owned\x07" + "y" * 600}))
    assert isinstance(read, JoinRefused)
    assert read.why.startswith("\\x1b]0;owned\\x07y") and read.why.endswith("y...") and len(read.why) == MAX_WORDS


def test_every_message_has_a_number_of_its_own() -> None:
    assert len(DECLARED) >= 38 and len(set(_TYPES.values())) == len(DECLARED)


@given(st.binary(max_size=300))
def test_any_bytes_give_a_message_or_a_drop(data: bytes) -> None:
    decode_control(data)


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (Suspicion((Address("bad name", 1, "x"),)), "name"),
        (Suspicion((Address("A", 1, "x" * 200),)), "address"),
        (Heartbeat(V, -1), "number"),
        (Suspicion((A,) * 5_000), "list"),
        (NewView(VIEW.roll_call, V, (A, A), (), (), 1, 1, (), ()), "view"),
        (NewView(VIEW.roll_call, V, (A, B), (), (), 1, 1, (Entry(0, 0, 0),), ()), "digest entry"),
    ],
)
def test_what_breaks_a_bound_is_dropped_with_a_reason(message: Control, reason: str) -> None:
    dropped = decode_control(encode_control(message))
    assert isinstance(dropped, Drop) and reason in dropped.reason


def test_an_unknown_type_and_a_message_that_is_too_long_are_dropped() -> None:
    for data in (b"", b"\xff", encode_control(Heartbeat(V, 1)) + b"x", b"\x01" + bytes(2 << 20)):
        assert isinstance(decode_control(data), Drop)


@pytest.mark.parametrize("long", [Address("A", 1, "x" * 50_000), Address("A" * 50_000, 1, "x")])
def test_nothing_is_remembered_of_an_address_that_is_too_long(long: Address) -> None:
    for message in (Suspicion((long,)), Heartbeat(ViewId(3, long), 1)):
        decoded = decode_control(encode_control(message))
        assert isinstance(decoded, Drop) and len(decoded.reason) < 100
    alike = [each for each in gc.get_objects() if isinstance(each, Address) and each == long]
    assert alike == [long] and alike[0] is long
