"""Which side is primary (`partition="primary"`)."""

from __future__ import annotations

from dataclasses import dataclass

from ringcast.model import Electorate


@dataclass(frozen=True, slots=True)
class PrimaryElsewhere:
    """The primary side has gone on, in this view or a later one: if you are not in it, go there."""

    primary: Electorate
