"""What the application sends and gets.

The unit inside is a run (a sender's consecutive messages); the application may read runs (`Batch`) or single messages.
Not what travels: packets are in core/packets.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from ringcast.model.address import Address
from ringcast.model.view import View, ViewId


class Message(NamedTuple):
    """One message, as delivered. `private` = it came on a stream to this member, not by multicast to the group."""

    sender: Address
    payload: bytes
    private: bool = False


class Batch(NamedTuple):
    """Consecutive messages of one sender, as delivered together."""

    sender: Address
    payloads: list[bytes]
    private: bool = False


@dataclass(frozen=True, slots=True)
class ViewChange:
    """A view was installed. It stands in the same stream as the messages: those before it belong to the view before."""

    view: View


@dataclass(frozen=True, slots=True)
class StatesApart:
    """The states of the sides that this MergeView joined could not become one: every member keeps that of its side.

    It stands directly behind the view, in the stream of a group that was joined with `merge_state`.
    """

    view: ViewId
    why: str


@dataclass(frozen=True, slots=True)
class Rejoin:
    """This member lost its place as `was` and comes back as a new incarnation: what it built up counts no more.

    It stands behind the last message of the old place; the next view is the first of the new one.
    """

    was: Address
    why: str


Notice = ViewChange | Rejoin | StatesApart  # what the application is told between messages
