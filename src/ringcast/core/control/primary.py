"""Which views are primary, and whether everybody has them (`partition="primary"`)."""

from __future__ import annotations

from dataclasses import dataclass

from ringcast.model import ViewId


@dataclass(frozen=True, slots=True)
class Installed:
    """I have installed this primary view."""

    view: ViewId


@dataclass(frozen=True, slots=True)
class Formed:
    """Everybody has installed this primary view: from now on a majority of it decides."""

    view: ViewId


@dataclass(frozen=True, slots=True)
class PrimaryElsewhere:
    """Our side is not primary, and another one is, in this view: go there."""

    view: ViewId
