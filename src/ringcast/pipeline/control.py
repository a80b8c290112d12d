"""A control event as a row of the control table: its details as typed columns, addresses as codes.

A detail that is not what its kind must carry does not stop anything: the row says `malformed`, and rules that need it
call the guarantee unjudged.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ringcast.model import ViewId
from ringcast.pipeline.codes import Codes
from ringcast.trace import as_digest, as_view_id

_TEXTS = ("step", "cause", "purpose", "outcome", "merge_id", "about", "what", "how", "reason")
_LISTS = ("members", "observers", "asked", "cancelled")
_FLAGS = ("synchrony", "has_view")


def detail_columns(detail: Mapping[str, Any] | None, codes: Codes) -> dict[str, Any]:
    """The columns that a detail fills."""
    if detail is None:
        return {}
    try:
        return _columns(detail, codes)
    except (ValueError, TypeError, LookupError) as error:
        return {"malformed": f"{type(error).__name__}: {error}"}


def view_columns(view: ViewId | None, codes: Codes, prefix: str = "number") -> dict[str, Any]:
    if view is None:
        return {}
    return {prefix: view.number, f"{prefix}_creator": codes.of(view.creator)}


def _columns(detail: Mapping[str, Any], codes: Codes) -> dict[str, Any]:
    row: dict[str, Any] = {name: str(detail[name]) for name in _TEXTS if detail.get(name) is not None}
    row |= {name: codes.of_all(detail[name]) for name in _LISTS if detail.get(name) is not None}
    row |= {name: bool(detail[name]) for name in _FLAGS if detail.get(name) is not None}
    if detail.get("subgroups"):
        row["subgroups"] = [codes.of_all(group) for group in detail["subgroups"]]
    if detail.get("digest") is not None:
        entries = as_digest(detail["digest"]).entries
        row["digest"] = [{"member": codes.of(m), **entry._asdict()} for m, entry in entries.items()]
    if detail.get("capacity") is not None:
        row["capacity"] = int(detail["capacity"])
    if detail.get("origin") is not None:
        row["origin"] = codes.of(detail["origin"])
    previous = as_view_id(detail.get("previous"))
    if previous is not None:
        row |= {"previous_number": previous.number, "previous_creator": codes.of(previous.creator)}
    return row
