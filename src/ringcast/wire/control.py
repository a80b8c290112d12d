"""Control messages <-> bytes: one byte for the type, then msgpack of the fields.

`decode_control` gives a message or a Drop, for any bytes at all: types are checked by msgspec, and then every number,
text and sequence is held against its bound. Each type and its number is declared in core/control.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import lru_cache, partial
from typing import Any

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
    kind = type(value)
    look = _LOOKS.get(kind)
    if look is None:
        look = _LOOKS[kind] = _look_for(kind)
    return look(value)


def _look_for(kind: type) -> Look:
    """Found once for each kind of value: there are as many as the declared messages have parts."""
    for known, look in _KNOWN_LOOKS:
        if issubclass(kind, known):
            return look
    return partial(_bad_part, tuple(spec.name for spec in fields(kind)) if is_dataclass(kind) else ())


def _bad_part(names: tuple[str, ...], value: object) -> str | None:
    for name in names:
        part = getattr(value, name)
        look = _LOOKS.get(type(part))  # as in `_out_of_bounds`, without the call
        wrong = _out_of_bounds(part) if look is None else look(part)
        if wrong is not None:
            return wrong
        if name in _ALLOCATED and part > _ALLOCATED[name]:
            return f"{name} {part}"
    return None


def _bad_tuple(value: tuple[object, ...]) -> str | None:
    if len(value) > MAX_MEMBERS:
        return f"a list of {len(value)}"
    return next((wrong for item in value if (wrong := _out_of_bounds(item))), None)


def _bad_number(value: int) -> str | None:
    return None if 0 <= value <= MAX_MARK else f"the number {value}"


def _bad_text(value: str) -> str | None:
    return None if len(value) <= MAX_WORDS else f"{len(value)} characters of text"


_ALLOCATED = {"capacity": MAX_CAPACITY, "window_bytes": MAX_WINDOW_BYTES}  # windows are made of these sizes


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


def _bad_member(address: Address) -> str | None:
    return "an address out of range" if _is_long(address) else _bad_address(address)


def _bad_tag(view_id: ViewId) -> str | None:
    return "an address out of range" if _is_long(view_id.creator) else _bad_view_id(view_id)


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


Look = Callable[[Any], str | None]
_KNOWN_LOOKS: tuple[tuple[type, Look], ...] = (
    (Address, _bad_member),
    (ViewId, _bad_tag),
    (tuple, _bad_tuple),
    (int, _bad_number),
    (str, _bad_text),
)
_LOOKS: dict[type, Look] = {}
