"""What members say about the one order (seed 002)."""

from __future__ import annotations

from dataclasses import dataclass

from ringcast.model import ViewId


@dataclass(frozen=True, slots=True)
class Staged:
    """I hold these senders' (by rank in the view) ordered messages up to these numbers. Said again if it is lost."""

    view: ViewId
    upto: tuple[tuple[int, int], ...]
