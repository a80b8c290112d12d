"""Reading what stands in an event's detail, whether the event is fresh or comes back from a file.

Addresses and view ids are named tuples in memory and plain lists in a file; these functions accept both and raise
ValueError, TypeError or IndexError on anything else. Not a schema: docs/design/trace.md says what each kind carries.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ringcast.model import Address, Digest, Entry, ViewId

_NOTHING: Mapping[str, Any] = {}


def detail_of(detail: Mapping[str, Any] | None) -> Mapping[str, Any]:
    return detail if isinstance(detail, Mapping) else _NOTHING


def as_address(value: Any) -> Address:
    if isinstance(value, Address):
        return value
    name, incarnation, endpoint = value
    if not (isinstance(name, str) and type(incarnation) is int and isinstance(endpoint, str)):
        raise ValueError(f"not an address: {value!r}")
    return Address(name, incarnation, endpoint)


def as_addresses(values: Iterable[Any] | None) -> tuple[Address, ...]:
    return tuple(as_address(value) for value in values or ())


def as_view_id(value: Any) -> ViewId | None:
    if value is None or isinstance(value, ViewId):
        return value
    number, creator = value
    if type(number) is not int:
        raise ValueError(f"not a view id: {value!r}")
    return ViewId(number, as_address(creator))


def as_digest(rows: Iterable[Any] | None) -> Digest:
    """A digest is recorded as rows [member, low, delivered, received]."""
    return Digest({as_address(member): _entry(figures) for member, *figures in rows or ()})


def _entry(figures: list[Any]) -> Entry:
    if any(type(figure) is not int for figure in figures):
        raise ValueError(f"not an entry of a digest: {figures!r}")
    return Entry(*figures)


def digest_rows(digest: Digest) -> list[list[Any]]:
    """The recorded form of a digest."""
    return [[member, *entry] for member, entry in digest.entries.items()]
