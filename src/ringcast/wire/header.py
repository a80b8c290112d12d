"""The head of every frame: magic, version, kind, group, and who sent it.

    magic 2 | version 1 | kind 1 | group 4 | to 4 | name length 1 | endpoint length 1 | incarnation 8 | name | endpoint

The group is named by a checksum, so that two groups on one port do not talk to each other by accident; it is no secret.
`to` is a checksum of the address that a frame is meant for, 0 = everybody: what was on its way to a process that is
gone must not be taken by the one that was started in its place.
Addresses are remembered by their bytes: decoding the same sender again is one look-up.
"""

from __future__ import annotations

import struct
from typing import TypeVar
from zlib import crc32

from ringcast.model import MAX_ENDPOINT, MAX_INCARNATION, MAX_NAME, Address, ViewId, check_name
from ringcast.wire.limits import MAGIC, MAX_CACHED, MAX_VIEW_NUMBER, VERSION

K = TypeVar("K")
V = TypeVar("V")

_HEAD = struct.Struct("<2sBBII")
_ADDRESS = struct.Struct("<BBq")
_NUMBER = struct.Struct("<q")

HEAD_BYTES = _HEAD.size
KIND_AT = 3
ADDRESS_BYTES = _ADDRESS.size  # without the name and the endpoint
EVERYBODY = 0
_TO_AT = HEAD_BYTES - 4
_TO_EVERYBODY = EVERYBODY.to_bytes(4, "little")


class Malformed(Exception):
    """These bytes are not a frame of ours. Never leaves the room: `decode` turns it into a Drop."""


def group_tag(group: str) -> int:
    return crc32(group.encode())


def pack_address(address: Address) -> bytes:
    name, endpoint = address.name.encode(), address.endpoint.encode()
    return _ADDRESS.pack(len(name), len(endpoint), address.incarnation) + name + endpoint


def address_tag(address: Address) -> int:
    return crc32(pack_address(address)) or 1


def pack_head(kind: int, group: int, sender: Address, to: int = EVERYBODY) -> bytes:
    return _HEAD.pack(MAGIC, VERSION, kind, group, to) + pack_address(sender)


def for_everybody(frame: bytes) -> bytes:
    """The same frame without whom it is for."""
    if len(frame) < HEAD_BYTES:
        return frame
    return frame[:_TO_AT] + _TO_EVERYBODY + frame[HEAD_BYTES:]


def pack_view_id(view_id: ViewId) -> bytes:
    return _NUMBER.pack(view_id.number) + pack_address(view_id.creator)


def read_head(frame: bytes | memoryview, tag: int, me: int) -> int:
    """The kind of a frame of this group that is meant for me."""
    if len(frame) < HEAD_BYTES:
        raise Malformed("shorter than a head")
    magic, version, kind, group, to = _HEAD.unpack_from(frame)
    if magic != MAGIC:
        raise Malformed("not a ringcast frame")
    if version != VERSION:
        raise Malformed(f"version {version}, this is version {VERSION}")
    if group != tag:
        raise Malformed("another group's frame")
    if to not in (EVERYBODY, me):
        raise Malformed("meant for another process, perhaps the one before this")
    return int(kind)


class AddressBook:
    """Turns bytes into addresses and view ids, remembering what it has seen; bounded."""

    __slots__ = ("_addresses", "_view_ids")

    def __init__(self) -> None:
        self._addresses: dict[bytes, Address] = {}
        self._view_ids: dict[bytes, ViewId] = {}

    def read_address(self, frame: bytes | memoryview, at: int) -> tuple[Address, int]:
        end = address_end(frame, at)
        raw = bytes(frame[at:end])
        address = self._addresses.get(raw)
        if address is None:
            address = _parse_address(raw)
            remember(self._addresses, raw, address)
        return address, end

    def read_view_id(self, frame: bytes | memoryview, at: int) -> tuple[ViewId, int]:
        end = address_end(frame, at + _NUMBER.size)
        raw = bytes(frame[at:end])
        view_id = self._view_ids.get(raw)
        if view_id is None:
            (number,) = _NUMBER.unpack_from(raw)
            if not 0 <= number <= MAX_VIEW_NUMBER:
                raise Malformed("a view number out of range")
            view_id = ViewId(number, _parse_address(raw[_NUMBER.size :]))
            remember(self._view_ids, raw, view_id)
        return view_id, end


def address_end(frame: bytes | memoryview, at: int) -> int:
    if at + _ADDRESS.size > len(frame):
        raise Malformed("an address is cut off")
    end = at + _ADDRESS.size + frame[at] + frame[at + 1]
    if end > len(frame):
        raise Malformed("an address is cut off")
    return end


def _parse_address(raw: bytes) -> Address:
    name_length, endpoint_length, incarnation = _ADDRESS.unpack_from(raw)
    if name_length > MAX_NAME or endpoint_length > MAX_ENDPOINT or not 0 <= incarnation <= MAX_INCARNATION:
        raise Malformed("an address out of range")
    at = _ADDRESS.size
    try:
        name = raw[at : at + name_length].decode()
        endpoint = raw[at + name_length :].decode()
    except UnicodeDecodeError:
        raise Malformed("an address that is not text") from None
    if check_name(name) is not None or not endpoint.isprintable():
        raise Malformed("an address with a bad name")
    return Address(name, incarnation, endpoint)


def remember(book: dict[K, V], key: K, value: V) -> None:
    """Put into a cache that never grows beyond its bound."""
    if len(book) >= MAX_CACHED:
        book.clear()
    book[key] = value
