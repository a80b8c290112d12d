"""Control messages <-> bytes: one byte for the type, then msgpack of the fields.

`decode_control` gives a message or a Drop, for any bytes at all: types are checked by msgspec, and then every number,
text and sequence is held against its bound. Each type and its number is declared in core/control.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from functools import lru_cache

import msgspec

from ringcast.core import DECLARED, LARGEST_CONTROL, MAX_WORDS, Control, Drop, MergeView, NewView, Relayed, ViewAnswer
from ringcast.model import MAX_ENDPOINT, MAX_INCARNATION, MAX_NAME, Address, ViewId, check_name
from ringcast.wire.limits import (
    MAX_CACHED,
    MAX_CAPACITY,
    MAX_MARK,
    MAX_MEMBERS,
    MAX_VIEW_NUMBER,
    MAX_WINDOW_BYTES,
)

_TYPES = {kind: bytes([declared.number]) for kind, declared in DECLARED.items()}
_DECODERS: dict[int, msgspec.msgpack.Decoder[Control]] = {
    declared.number: msgspec.msgpack.Decoder(kind) for kind, declared in DECLARED.items()
}
_encoder = msgspec.msgpack.Encoder()


def encode_control(message: Control) -> bytes:
    return _TYPES[type(message)] + _encoder.encode(message)


def decode_control(data: bytes) -> Control | Drop:
    if not 1 <= len(data) <= LARGEST_CONTROL:
        return Drop(f"a control message of {len(data)} bytes", None)
    decoder = _DECODERS.get(data[0])
    if decoder is None:
        return Drop(f"a control message of unknown type {data[0]}", None)
    try:
        message: Control = decoder.decode(memoryview(data)[1:])
    except (msgspec.DecodeError, ValueError, RecursionError) as why:  # text that is not UTF-8 is a plain ValueError
        return Drop(f"malformed control message: {why}", None)
    wrong = _out_of_bounds(message) or _bad_view(message)
    return message if wrong is None else Drop(f"a control message with {wrong}", None)


def _out_of_bounds(value: object) -> str | None:
    """What breaks a bound, anywhere inside; None if nothing does."""
    if isinstance(value, Address):
        return "an address out of range" if _is_long(value) else _bad_address(value)
    if isinstance(value, ViewId):
        return "an address out of range" if _is_long(value.creator) else _bad_view_id(value)
    if isinstance(value, tuple):
        if len(value) > MAX_MEMBERS:
            return f"a list of {len(value)}"
        return next((wrong for item in value if (wrong := _out_of_bounds(item))), None)
    if isinstance(value, int):
        return None if 0 <= value <= MAX_MARK else f"the number {value}"
    if isinstance(value, str):
        return None if len(value) <= MAX_WORDS else f"{len(value)} characters of text"
    kind = type(value)
    for name in _FIELDS[kind] if kind in _FIELDS else _fields_of(kind):
        part = getattr(value, name)
        wrong = _out_of_bounds(part)
        if wrong is not None:
            return wrong
        if name in _ALLOCATED and part > _ALLOCATED[name]:
            return f"{name} {part}"
    return None


_ALLOCATED = {"capacity": MAX_CAPACITY, "window_bytes": MAX_WINDOW_BYTES}  # windows are made of these sizes
_FIELDS: dict[type, tuple[str, ...]] = {}


def _fields_of(kind: type) -> tuple[str, ...]:
    """Of a message or a part of one, found once; anything else has none."""
    names = tuple(spec.name for spec in fields(kind)) if is_dataclass(kind) else ()
    _FIELDS[kind] = names
    return names


_VIEWS = (NewView, MergeView, ViewAnswer)


def _bad_view(message: Control) -> str | None:
    if isinstance(message, Relayed):
        return "not one relayed message" if message.message is None else _bad_view(message.message)
    if isinstance(message, _VIEWS):
        members = message.members
        if not members or len(dict.fromkeys(members)) != len(members):
            return "a view without distinct members"
        if not isinstance(message, ViewAnswer) and len(message.entries) != len(members):
            return "a view without a digest entry for each member"
    return None


def _is_long(address: Address) -> bool:
    return len(address.name) > MAX_NAME or len(address.endpoint) > MAX_ENDPOINT


# The same few stand in nearly every message: what was right before is right again. Asked for short ones only, for what
# was asked is remembered.


@lru_cache(maxsize=MAX_CACHED)
def _bad_view_id(view_id: ViewId) -> str | None:
    if not 0 <= view_id.number <= MAX_VIEW_NUMBER:
        return "a view number out of range"
    return _bad_address(view_id.creator)


@lru_cache(maxsize=MAX_CACHED)
def _bad_address(address: Address) -> str | None:
    if not 0 <= address.incarnation <= MAX_INCARNATION or len(address.endpoint.encode()) > MAX_ENDPOINT:
        return "an address out of range"
    if not address.endpoint.isprintable():
        return "an address that cannot be printed"
    return check_name(address.name)
