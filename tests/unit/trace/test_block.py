"""Blocks: any events come back equal; any bytes give columns or a TraceError."""

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ringcast.model import Address, Event, Kind, ViewId
from ringcast.trace import TraceError, from_frame
from ringcast.trace.block import MAX_BLOCK_EVENTS, decode_block, encode_block, open_block, open_detail

WORD = st.integers(-(2**63), 2**63 - 1)
SMALL = st.integers(0, 2**40)
ADDRESS = st.builds(Address, st.sampled_from(["a", "b", "ö"]), st.integers(0, 2**63 - 1), st.sampled_from(["h:1", ""]))
VIEW = st.builds(ViewId, st.integers(0, 2**60), ADDRESS)
DETAIL = st.dictionaries(st.text(max_size=5), st.none() | st.integers(-9, 9) | st.text(max_size=5), max_size=3)
EVENT = st.builds(
    Event,
    st.sampled_from(Kind),
    SMALL,
    st.none() | VIEW,
    st.none() | ADDRESS,
    SMALL,
    SMALL | WORD.map(lambda n: abs(n) // 2),
    st.integers(0, 2**22),
    SMALL,
    SMALL,
    SMALL,
    st.none() | DETAIL,
    SMALL,
)


@given(st.lists(EVENT, min_size=1, max_size=30))
def test_events_come_back_as_they_were(events: list[Event]) -> None:
    assert decode_block(encode_block(events)).events() == events


def test_a_block_of_before_digests_of_contents_is_read() -> None:
    """Its last column, all 0, was not there."""
    events = [Event(Kind.SEND, 5, first=7, count=2), Event(Kind.ACK, 6, value=3)]
    data = encode_block(events)
    assert data[:1] == b"\x00"
    end = 5 + int.from_bytes(data[1:5], "little")
    count, addresses, views, specs = msgspec.msgpack.decode(data[5:end])
    meta = msgspec.msgpack.encode([count, addresses, views, specs[:-1]])
    old = data[:1] + len(meta).to_bytes(4, "little") + meta + data[end:]
    assert decode_block(old).events() == events


@given(st.binary(max_size=300))
def test_any_bytes_are_columns_or_a_named_error(data: bytes) -> None:
    try:
        decode_block(data)
    except TraceError as error:
        assert "damaged block" in str(error)


def test_arrays_nested_by_the_thousand_are_a_named_error() -> None:
    nested = b"\x91" * 5_000
    block = b"\x00" + len(nested).to_bytes(4, "little") + nested
    for read in (lambda: open_detail(b"\x81\xa1x" + nested), lambda: open_block(block), lambda: from_frame(nested, 0)):
        with pytest.raises(TraceError, match="damaged"):
            read()


@settings(max_examples=300)
@given(st.lists(EVENT, min_size=1, max_size=5), st.data())
def test_a_flipped_byte_is_columns_or_a_named_error(events: list[Event], data: st.DataObject) -> None:
    block = bytearray(encode_block(events))
    at = data.draw(st.integers(0, len(block) - 1))
    block[at] ^= data.draw(st.integers(1, 255))
    try:
        decode_block(bytes(block)).events()
    except TraceError:
        pass


def test_a_number_beyond_64_bits_is_refused() -> None:
    with pytest.raises(OverflowError):
        encode_block([Event(Kind.SEND, 0, first=0), Event(Kind.SEND, 0, first=2**65)])


@pytest.mark.parametrize(
    "event",
    [
        Event(Kind.DEQUEUE, 0, first=1, count=2**22 + 1),
        Event(Kind.DEQUEUE, 0, first=1, count=-1),
        Event(Kind.SEND, 0, first=2**62 + 1, count=1),
        Event(Kind.SEND, 0, ViewId(2**62 + 1, Address("a", 1, "h:1"))),
    ],
)
def test_numbers_that_no_member_can_have_recorded_are_damage(event: Event) -> None:
    """Judges take some messages one by one: such a count would keep them busy for ever."""
    for events in ([event], [Event(Kind.SEND, 0, first=1, count=1), event]):
        with pytest.raises(TraceError, match="damaged block"):
            decode_block(encode_block(events))


def test_a_detail_that_cannot_be_written_is_kept_as_text() -> None:
    (event,) = decode_block(encode_block([Event(Kind.DROP, 0, detail={"reason": object})])).events()
    assert event.detail == {"reason": "<class 'object'>"}


def test_a_block_that_unpacks_to_too_many_events_is_refused() -> None:
    import msgspec

    meta = msgspec.msgpack.encode([MAX_BLOCK_EVENTS + 1, [], [], [[1, ""]] * 11])
    details = msgspec.msgpack.encode([])
    raw = b"\x00" + len(meta).to_bytes(4, "little") + meta + len(details).to_bytes(4, "little") + details
    with pytest.raises(TraceError, match="events in"):
        decode_block(raw)


def test_equal_details_are_stored_once() -> None:
    detail = {"to": [Address("a", 1, "x"), Address("b", 1, "y")]}
    events = [Event(Kind.QUEUE_START, n, first=n, count=1, detail=dict(detail)) for n in range(1, 9)]
    assert len(open_block(encode_block(events)).details) == 1
    assert len(decode_block(encode_block(events)).events()) == len(events)


def test_a_detail_that_is_no_map_is_damage() -> None:
    with pytest.raises(TraceError, match="not a map"):
        open_detail(msgspec.msgpack.encode([1, 2]))
