"""What members say about the one order (seed 002)."""

from __future__ import annotations

from ringcast.core.control.declaration import ALONE, MEMBERS, NOBODY, Control, message
from ringcast.model import ViewId


@message(48, ALONE, looking=NOBODY, in_view=MEMBERS, promised=MEMBERS)
class Staged(Control):
    """I hold these senders' (by rank in the view) ordered messages up to these numbers. Said again if it is lost."""

    view: ViewId
    upto: tuple[tuple[int, int], ...]
