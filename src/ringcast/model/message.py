"""What the application sends and gets.

The unit inside is a run (a sender's consecutive messages); the application may read runs (`Batch`) or single messages.
Not what travels: packets are in core/packets.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import repeat

from ringcast.model.address import Address
from ringcast.model.order import Order
from ringcast.model.view import View, ViewId


class Delivery:
    """How messages came: what those that were delivered together have in common."""

    __slots__ = ("_place", "_to", "_view", "private")

    def __init__(
        self,
        private: bool = False,
        view: View | None = None,
        place: object | None = None,
        to: tuple[Address, ...] | None = None,
    ) -> None:
        self.private = private
        self._view = view
        self._place = place  # in the one order
        self._to = to

    @property
    def order(self) -> Order:
        """TOTAL if they stand in the one order of all."""
        return Order.FIFO if self._place is None else Order.TOTAL

    @property
    def stamp(self) -> str | None:
        """Their place in the one order, as `group.after` takes it; None for messages without order."""
        return None if self._place is None else str(self._place)

    @property
    def view(self) -> View:
        """The view in which they were delivered."""
        if self._view is None:
            raise AttributeError("a message that was made by hand was delivered in no view")
        return self._view

    @property
    def recipients(self) -> tuple[Address, ...]:
        """Who gets them: the members of the view, or those they were sent to.

        Of a private message without order a member knows only that it is one of them itself.
        """
        return self.view.members if self._to is None else self._to


_BY_HAND = Delivery()


class Message:
    """One message, as delivered. `private` = it was sent to some members, not by multicast to the group."""

    __slots__ = ("_delivery", "payload", "sender")
    __match_args__ = ("sender", "payload", "private")

    def __init__(self, sender: Address, payload: bytes, delivery: Delivery = _BY_HAND) -> None:
        self.sender = sender
        self.payload = payload
        self._delivery = delivery

    def as_batch(self) -> Batch:
        """A run of this one alone."""
        delivery = self._delivery
        return Batch(self.sender, [self.payload], delivery.private, delivery._view, delivery._place, delivery._to)

    @property
    def private(self) -> bool:
        return self._delivery.private

    @property
    def order(self) -> Order:
        """TOTAL if it stands in the one order of all."""
        return self._delivery.order

    @property
    def stamp(self) -> str | None:
        """Its place in the one order, as `group.after` takes it; None for a message without order."""
        return self._delivery.stamp

    @property
    def view(self) -> View:
        """The view in which it was delivered."""
        return self._delivery.view

    @property
    def recipients(self) -> tuple[Address, ...]:
        """Who gets it: the members of the view, or those it was sent to.

        Of a private message without order a member knows only that it is one of them itself.
        """
        return self._delivery.recipients

    def __eq__(self, other: object) -> bool:
        """The same words of the same sender, sent in the same way; wherever and whenever they were delivered."""
        if type(other) is not Message:
            return NotImplemented
        mine = (self.sender, self.payload, self.private)
        return mine == (other.sender, other.payload, other.private)

    def __hash__(self) -> int:
        return (self.sender, self.payload, self.private).__hash__()

    def __repr__(self) -> str:
        return f"Message(sender={self.sender!r}, payload={self.payload!r}, private={self.private})"


class Batch(Delivery):
    """Consecutive messages of one sender, as delivered together."""

    __slots__ = ("payloads", "sender")
    __match_args__ = ("sender", "payloads", "private")

    def __init__(
        self,
        sender: Address,
        payloads: list[bytes],
        private: bool = False,
        view: View | None = None,
        place: object | None = None,
        to: tuple[Address, ...] | None = None,
    ) -> None:
        self.sender = sender
        self.payloads = payloads
        self.private = private
        self._view = view
        self._place = place
        self._to = to

    def with_payloads(self, payloads: list[bytes]) -> Batch:
        """The same delivery with other bytes, for layers that share a group."""
        return Batch(self.sender, payloads, self.private, self._view, self._place, self._to)

    def messages(self) -> Iterator[Message]:
        """One by one. A message that is kept does not keep the others."""
        delivery = Delivery(self.private, self._view, self._place, self._to)
        return map(Message, repeat(self.sender), self.payloads, repeat(delivery))

    def __eq__(self, other: object) -> bool:
        if type(other) is not Batch:
            return NotImplemented
        mine = (self.sender, self.payloads, self.private)
        return mine == (other.sender, other.payloads, other.private)

    __hash__ = None  # type: ignore[assignment]  # its list may change

    def __repr__(self) -> str:
        return f"Batch(sender={self.sender!r}, payloads={self.payloads!r}, private={self.private})"


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


@dataclass(frozen=True, slots=True)
class Undelivered:
    """`to` left before it had acked these private messages of this member: it may not have got them (G16).

    `first` is the number of the first among those sent to it since it came, counted from 1. It stands behind the view
    without that member.
    """

    to: Address
    first: int
    count: int


Notice = ViewChange | Rejoin | StatesApart | Undelivered  # what the application is told between messages
GroupEvent = Message | Notice  # what reading a group gives
