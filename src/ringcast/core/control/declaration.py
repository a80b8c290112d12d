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

A text in a message is a reason, for people: one printable line of at most MAX_WORDS characters, whoever made it. Longer
ones are cut and control characters escaped at both ends, so that neither the text of an application's exception nor a
list of many members makes a message that nobody takes, and no peer writes into a log what a terminal obeys.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto
from typing import NamedTuple, TypeVar, dataclass_transform

from ringcast.model import Address, ViewId


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
MAX_WORDS = 512  # characters of a reason

M = TypeVar("M", bound=Control)


@dataclass_transform(frozen_default=True)
def message(
    number: int, carriers: tuple[Carrier, ...], *, looking: Senders, in_view: Senders, promised: Senders
) -> Callable[[type[M]], type[M]]:
    """Declares the class below it."""
    assert number not in [declared.number for declared in DECLARED.values()], number

    def declare(kind: type[M]) -> type[M]:
        texts = [name for name, annotation in kind.__annotations__.items() if annotation in ("str", str)]
        if texts:
            kind.__post_init__ = _shortening(texts)  # type: ignore[attr-defined]
        made = dataclass(frozen=True, slots=True)(kind)
        DECLARED[made] = Declaration(number, Rule(carriers, looking, in_view, promised))
        return made

    return declare


def _shortening(texts: list[str]) -> Callable[[Control], None]:
    """What a message with these texts does when it is made, here or by the decoder."""

    def shorten(made: Control) -> None:
        for name in texts:
            text = getattr(made, name)
            if len(text) > MAX_WORDS or not text.isprintable():
                object.__setattr__(made, name, _in_one_line(text))

    return shorten


def _in_one_line(text: str) -> str:
    whole = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text[:MAX_WORDS])
    return whole if len(whole) <= MAX_WORDS and len(text) <= MAX_WORDS else whole[: MAX_WORDS - 3] + "..."


# What control messages name: roll calls, merges, transfers, and what is held of whom.


class RollCallId(NamedTuple):
    """Ordered: a later base view, then a later coordinator in it, then a later attempt replaces a promise."""

    base: ViewId
    rank: int
    attempt: int

    def __str__(self) -> str:
        return f"{self.base}/{self.rank}.{self.attempt}"


class MergeId(NamedTuple):
    """The leader's n-th merge. Armed once in its life, so a late message of an old merge can do nothing."""

    leader: Address
    number: int

    def __str__(self) -> str:
        return f"{self.leader}~{self.number}"


class Transfer(NamedTuple):
    """Who gives the state to whom, cut at which view."""

    joiner: Address
    provider: Address
    view: ViewId


class Side(NamedTuple):
    """One subgroup of a MergeView, and who gives its state."""

    giver: Address
    members: tuple[Address, ...]


class Reunion(NamedTuple):
    """The states of a MergeView's sides become one: `merger` gets that of each side and gives all the merged one."""

    cut: ViewId  # the MergeView: every state is as it was directly behind it
    view: ViewId  # that named this merger and these givers
    merger: Address
    sides: tuple[Side, ...]
    lacking: tuple[Address, ...]  # who has not got the merged state
    stateless: tuple[Address, ...] = ()  # who had not loaded the state it joined with: it has none to give


class Standing(NamedTuple):
    """How a member stands with the application's state: does it wait for one, and which MergeView's has it got?"""

    lacks: bool = False  # the merged state of a MergeView
    reunited: ViewId | None = None
    joining: Transfer | None = None  # it joined with state and has not confirmed it: who gives it
    is_whole: bool = False  # all of that state is there, its application loads it
    is_bare: bool = False  # a merge came before that: it waits for the merged state, and has none of its own


NO_STATE = Standing()


class Row(NamedTuple):
    """A row: the members that one member watches and does not hear, in its own words, by their rank in the view."""

    member: int
    version: int  # grows with each time that it said so
    unheard: tuple[int, ...] = ()
    wanted: tuple[int, ...] = ()  # these shall watch it, because their acks are missing
    gone: tuple[int, ...] = ()  # these are no longer with it: they are in another view, or it gave them up
    apart: tuple[Address, ...] = ()  # excluded for a bad link to it, and the link is still bad


class Holding(NamedTuple):
    """What a member holds of one that is going away: everything in (freed, ready], and ranges beyond a gap."""

    origin: Address
    freed: int
    ready: int
    beyond: tuple[tuple[int, int], ...] = ()


class Source(NamedTuple):
    """Where first..last of a going-away member's messages can be had; every member has taken those up to `low`."""

    origin: Address
    first: int
    last: int
    holder: Address
    low: int


class Carried(NamedTuple):
    """Which of a going-away member's ordered messages somebody holds the payloads of, as ranges of numbers."""

    origin: Address
    ranges: tuple[tuple[int, int], ...]


class Survivor(NamedTuple):
    """One who goes on to the next view, and what it reported."""

    member: Address
    carried: tuple[Carried, ...]


class Settlement(NamedTuple):
    """From this everybody who goes on settles alike what was not ordered yet: who goes, who goes on and holds what."""

    going: tuple[Address, ...] = ()
    survivors: tuple[Survivor, ...] = ()


NOTHING_TO_SETTLE = Settlement()
