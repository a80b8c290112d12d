"""Which message is taken from whom, in which state, on which way: one table, asked before a message costs anything.

Who sends, as this process sees it:

    MEMBER    it is in our view
    FOUND     we are looking for a group, and asked it or heard of it
    OUTSIDER  anybody else: a joiner, a member of another side, a stranger

and where this process stands: LOOKING for a group, IN_VIEW, or PROMISED to a roll call, when a view is on its way whose
members we do not know yet. A message that only ever comes on the control stream between two processes is not taken from
a single datagram, and the reverse. What is not in the table is dropped and counted.

The table says who may speak; what a message may do is the component's: a roll call is answered to who leads, a merge
goes on for who was accepted as its leader. "answered only" marks what an outsider gets an answer to, and nothing more.
Not the way a frame came: that its sender is where its address says is proved before (runtime/origins.py).
"""

from __future__ import annotations

from enum import Enum, auto
from typing import NamedTuple

from ringcast.core.control import (
    Announce,
    Answer,
    AreYouThere,
    Ask,
    AskAbout,
    AskView,
    Behind,
    Busy,
    Cancel,
    CancelMerge,
    Control,
    Elsewhere,
    Fill,
    Filled,
    Heard,
    Heartbeat,
    Hello,
    Join,
    JoinRefused,
    Leave,
    MergeCall,
    MergeDigest,
    MergeReq,
    MergeRsp,
    MergeView,
    NewView,
    PrimaryElsewhere,
    Refusal,
    Relayed,
    ReunionFailed,
    Sighted,
    Staged,
    StateConfirmed,
    StateProgress,
    Stranger,
    Suspicion,
    ViewAck,
    ViewAnswer,
    ViewRefusal,
)
from ringcast.core.packets import Channel


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


MESSAGES: dict[type, Rule] = {
    # finding each other
    Hello: Rule(ALONE, ANYBODY, ANYBODY, ANYBODY),  # answered only
    Announce: Rule(ALONE, ANYBODY, ANYBODY, ANYBODY),
    Join: Rule(ON_STREAM, ANYBODY, ANYBODY, ANYBODY),
    JoinRefused: Rule(ON_STREAM, FOUND, NOBODY, NOBODY),
    Busy: Rule(ON_STREAM, FOUND, MEMBERS, MEMBERS),
    Elsewhere: Rule(ON_STREAM, FOUND, MEMBERS, MEMBERS),
    Leave: Rule(ON_STREAM, NOBODY, ANYBODY, ANYBODY),  # an outsider is given the view that it is not in
    # who lives
    Heartbeat: Rule(ALONE, NOBODY, ANYBODY, ANYBODY),
    AreYouThere: Rule(ALONE, ANYBODY, ANYBODY, ANYBODY),  # answered only: also a merge leader is watched
    AskAbout: Rule(ALONE, NOBODY, MEMBERS, MEMBERS),
    Heard: Rule(ALONE, NOBODY, MEMBERS, MEMBERS),
    Suspicion: Rule(EITHER, NOBODY, MEMBERS, MEMBERS),
    Stranger: Rule(ALONE, NOBODY, MEMBERS, MEMBERS),
    # the roll call and its view
    Ask: Rule(ON_STREAM, ANYBODY, ANYBODY, ANYBODY),  # an outsider is refused, or told that we are behind
    Fill: Rule(ON_STREAM, NOBODY, NOBODY, MEMBERS),  # only from the asker: the follower knows it
    Cancel: Rule(ON_STREAM, NOBODY, MEMBERS, MEMBERS),
    NewView: Rule(ON_STREAM, FOUND, ANYBODY, ANYBODY),  # without a promise it is refused
    Answer: Rule(ON_STREAM, NOBODY, MEMBERS, MEMBERS),
    Behind: Rule(ON_STREAM, NOBODY, MEMBERS, MEMBERS),
    Refusal: Rule(ON_STREAM, NOBODY, MEMBERS, MEMBERS),
    Filled: Rule(ON_STREAM, NOBODY, MEMBERS, MEMBERS),
    ViewAck: Rule(ON_STREAM, NOBODY, MEMBERS, MEMBERS),
    ViewRefusal: Rule(ON_STREAM, NOBODY, MEMBERS, MEMBERS),
    # the application's state: a view may be on its way to us whose new members speak already
    StateConfirmed: Rule(ON_STREAM, NOBODY, MEMBERS, ANYBODY),
    StateProgress: Rule(ON_STREAM, NOBODY, MEMBERS, ANYBODY),
    ReunionFailed: Rule(ON_STREAM, ANYBODY, MEMBERS, ANYBODY),
    # merges: with outsiders by their nature; leader and participant hold each against its merge id and its sender
    AskView: Rule(ALONE, NOBODY, ANYBODY, ANYBODY),  # answered only
    ViewAnswer: Rule(ON_STREAM, NOBODY, ANYBODY, ANYBODY),
    Sighted: Rule(ON_STREAM, NOBODY, MEMBERS, MEMBERS),
    MergeReq: Rule(ON_STREAM, NOBODY, ANYBODY, ANYBODY),
    MergeRsp: Rule(ON_STREAM, NOBODY, ANYBODY, ANYBODY),
    MergeCall: Rule(ON_STREAM, NOBODY, ANYBODY, ANYBODY),
    MergeDigest: Rule(ON_STREAM, NOBODY, ANYBODY, ANYBODY),
    MergeView: Rule(ON_STREAM, NOBODY, ANYBODY, ANYBODY),
    CancelMerge: Rule(ON_STREAM, NOBODY, ANYBODY, ANYBODY),
    Relayed: Rule(ON_STREAM, NOBODY, ANYBODY, ANYBODY),
    # primary partition and order
    PrimaryElsewhere: Rule(ON_STREAM, NOBODY, MEMBERS, MEMBERS),
    Staged: Rule(ALONE, NOBODY, MEMBERS, MEMBERS),
}

STREAMS: dict[Channel, Rule] = {
    # The multicast looks at each run itself (multicast.py): early ones wait for their view.
    Channel.GROUP: Rule(ALONE, ANYBODY, MEMBERS, MEMBERS),
    Channel.PEER: Rule(ALONE, NOBODY, MEMBERS, MEMBERS),
    Channel.CONTROL: Rule(ALONE, ANYBODY, ANYBODY, ANYBODY),  # joiners and other sides speak on it too
    Channel.STATE: Rule(ALONE, ANYBODY, MEMBERS, ANYBODY),  # chunks may be faster than the view that names their giver
}


def takes_message(message: Control, carrier: Carrier, sender: Sender, state: State) -> bool:
    rule = MESSAGES[type(message)]
    return carrier in rule.carriers and sender in rule.senders(state)


def takes_packet(channel: Channel, sender: Sender, state: State) -> bool:
    """A packet of a stream: run, ack, request, highest, refusal or reset."""
    return sender in STREAMS[channel].senders(state)
