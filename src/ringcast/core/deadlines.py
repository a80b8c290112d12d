"""Of several deadlines, some of which may not be set, the one that comes first. Asked after every fact: no lists."""

from __future__ import annotations


def earliest(*deadlines: int | None) -> int | None:
    first: int | None = None
    for deadline in deadlines:
        if deadline is not None and (first is None or deadline < first):
            first = deadline
    return first
