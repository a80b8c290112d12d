"""What the ordering orders the node to do, beside effects: what goes on which stream."""

from __future__ import annotations

from typing import NamedTuple

from ringcast.core.effects import Effect
from ringcast.core.packets import Envelope
from ringcast.model import Address


class Multicast(NamedTuple):
    """On this member's multicast to the view."""

    item: Envelope


class Post(NamedTuple):
    """On the stream to each of these peers."""

    to: tuple[Address, ...]
    item: Envelope


Decision = Multicast | Post | Effect
