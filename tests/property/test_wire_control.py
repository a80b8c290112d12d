"""Control messages as bytes: what goes out comes back, and any bytes at all give a value or a named drop."""

import dataclasses
from typing import Any, get_args, get_type_hints

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from property.wire_frames import addresses, view_ids
from ringcast.core import Drop
from ringcast.core.control import DECLARED, Relayed, RollCallId, Stranger
from ringcast.core.control.merge import Relayable
from ringcast.model import Address, Entry, View, ViewId
from ringcast.wire import decode_control, encode_control
from ringcast.wire.limits import MAX_CAPACITY, MAX_WINDOW_BYTES

TYPES = sorted(DECLARED, key=lambda kind: str(kind.__name__))
numbers = st.integers(0, 2**62)
ranges = st.tuples(numbers, numbers)
allocated = {"capacity": st.integers(0, MAX_CAPACITY), "window_bytes": st.integers(0, MAX_WINDOW_BYTES)}


@st.composite
def views(draw: st.DrawFn) -> View:
    members = draw(st.lists(addresses, min_size=1, max_size=5, unique=True))
    return View(draw(view_ids), tuple(members), (), (), draw(allocated["capacity"]), draw(allocated["window_bytes"]))


for kind, strategy in (
    (Address, addresses),
    (ViewId, view_ids),
    (View, views()),
    (Entry, st.builds(Entry, numbers, numbers, numbers)),
    (RollCallId, st.builds(RollCallId, view_ids, numbers, numbers)),
    (int, numbers),
    (str, st.text(max_size=40)),
):
    st.register_type_strategy(kind, strategy)


def messages(kind: type) -> st.SearchStrategy[Any]:
    if kind is Relayed:  # exactly one message; anything else is dropped by the decoder
        return st.builds(Relayed.of, addresses, addresses, st.one_of(*map(messages, get_args(Relayable))))
    built = st.builds(kind, **{field.name: _values(kind, field.name) for field in dataclasses.fields(kind)})
    return built.map(_with_an_entry_for_each) if hasattr(kind, "entries") else built


def _with_an_entry_for_each(view: Any) -> Any:
    return dataclasses.replace(view, entries=tuple(Entry(0, rank, rank) for rank in range(len(view.members))))


def _values(kind: type, name: str) -> st.SearchStrategy[Any]:
    if name == "members":  # of a view: some, and distinct; anything else is dropped by the decoder
        return st.lists(addresses, min_size=1, max_size=5, unique=True).map(tuple)
    return allocated[name] if name in allocated else st.from_type(get_type_hints(kind)[name])


@pytest.mark.parametrize("kind", TYPES, ids=lambda kind: str(kind.__name__))
@settings(max_examples=25)
@given(data=st.data())
def test_every_control_message_comes_back_as_it_went(kind: type, data: st.DataObject) -> None:
    message = data.draw(messages(kind))
    assert decode_control(encode_control(message)) == message


@given(st.binary(max_size=300))
def test_any_bytes_at_all_are_a_control_message_or_a_named_drop(data: bytes) -> None:
    decoded = decode_control(data)
    assert isinstance(decoded, (*TYPES, Drop))


@pytest.mark.parametrize("kind", TYPES, ids=lambda kind: str(kind.__name__))
@given(data=st.data())
def test_a_damaged_control_message_is_a_value_or_a_named_drop(kind: type, data: st.DataObject) -> None:
    """Found by simulation (seeds 23 and 28): a text that is not UTF-8 was an exception."""
    encoded = bytearray(encode_control(data.draw(messages(kind))))
    for _ in range(data.draw(st.integers(1, 4))):
        encoded[data.draw(st.integers(0, len(encoded) - 1))] = data.draw(st.integers(0, 255))
    decoded = decode_control(bytes(encoded))
    assert isinstance(decoded, (*TYPES, Drop))


def test_a_text_that_is_not_utf8_is_a_named_drop() -> None:
    encoded = bytearray(encode_control(Stranger(ViewId(1, Address("AB", 1, "x")))))
    encoded[encoded.index(b"AB")] = 0xEF
    decoded = decode_control(bytes(encoded))
    assert isinstance(decoded, Drop) and decoded.reason.startswith("malformed control message")
