"""Which side is primary (`partition="primary"`)."""

from __future__ import annotations

from ringcast.core.control.declaration import MEMBERS, NOBODY, ON_STREAM, Control, message
from ringcast.model import Electorate


@message(43, ON_STREAM, looking=NOBODY, in_view=MEMBERS, promised=MEMBERS)
class PrimaryElsewhere(Control):
    """The primary side has gone on, in this view or a later one: if you are not in it, go there."""

    primary: Electorate
