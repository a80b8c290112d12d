"""How a control message is declared: once, with its number on the wire and from whom it is taken, at its class.

    @message(5, ON_STREAM, looking=NOBODY, in_view=ANYBODY, promised=ANYBODY)
    class Leave(Control): ...

The class becomes a frozen dataclass and an entry of `DECLARED`. The codec (wire/control.py) and the rules of who may
say what (admission.py) are made of these entries. Numbers are part of the wire: never change one, only add.

Who sends, as this process sees it:

    MEMBER    it is in our view
    FOUND     we are looking for a group, and asked it or heard of it
    OUTSIDER  anybody else: a joiner, a member of another side, a stranger

and the state of this process: LOOKING for a group, IN_VIEW, or PROMISED to a roll call, when a view is on its way whose
members we do not know yet. A message that only ever comes on the control stream between two processes is not taken from
a single datagram, and the reverse. "answered only" marks what an outsider gets an answer to, and nothing more.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto
from typing import NamedTuple, TypeVar, dataclass_transform


class Sender(Enum):
    MEMBER, FOUND, OUTSIDER = auto(), auto(), auto()


class State(Enum):
    LOOKING, IN_VIEW, PROMISED = auto(), auto(), auto()


class Carrier(Enum):
    DATAGRAM, STREAM = auto(), auto()  # alone in a packet, or on the control stream between two processes


Senders = tuple[Sender, ...]

NOBODY: Senders = ()
MEMBERS: Senders = (Sender.MEMBER,)
FOUND: Senders = (Sender.FOUND,)
ANYBODY: Senders = (Sender.MEMBER, Sender.FOUND, Sender.OUTSIDER)

ALONE = (Carrier.DATAGRAM,)
ON_STREAM = (Carrier.STREAM,)
EITHER = (Carrier.DATAGRAM, Carrier.STREAM)


class Rule(NamedTuple):
    """From whom it is taken, by the state of who takes it."""

    carriers: tuple[Carrier, ...]
    looking: Senders
    in_view: Senders
    promised: Senders

    def senders(self, state: State) -> Senders:
        if state is State.LOOKING:
            return self.looking
        return self.in_view if state is State.IN_VIEW else self.promised


class Control:
    """A control message: anything that was declared with `message`."""

    __slots__ = ()


class Declaration(NamedTuple):
    number: int  # on the wire
    rule: Rule


DECLARED: dict[type[Control], Declaration] = {}

M = TypeVar("M", bound=Control)


@dataclass_transform(frozen_default=True)
def message(
    number: int, carriers: tuple[Carrier, ...], *, looking: Senders, in_view: Senders, promised: Senders
) -> Callable[[type[M]], type[M]]:
    """Declares the class below it."""
    assert number not in [declared.number for declared in DECLARED.values()], number

    def declare(kind: type[M]) -> type[M]:
        made = dataclass(frozen=True, slots=True)(kind)
        DECLARED[made] = Declaration(number, Rule(carriers, looking, in_view, promised))
        return made

    return declare
