"""Which message is taken from whom, in which state, on which way; asked before a message costs anything.

Each control message says so where it is declared (control/declaration.py); packets of streams by the table below. What
has no rule is dropped and counted. The rules say who may speak; what a message may do is decided by the component that
takes it: a roll call is answered to who leads, a merge goes on for who was accepted as its leader.
Not the way a frame came: that its sender is where its address says is proved before (runtime/origins.py).
"""

from __future__ import annotations

from ringcast.core.control import DECLARED, Control
from ringcast.core.control.declaration import ALONE, ANYBODY, MEMBERS, NOBODY, Carrier, Rule, Sender, State
from ringcast.core.packets import Channel, Loose, Packet

STREAMS: dict[Channel, Rule] = {
    # The multicast looks at each run itself (multicast.py): early ones wait for their view.
    Channel.GROUP: Rule(ALONE, ANYBODY, MEMBERS, MEMBERS),
    Channel.PEER: Rule(ALONE, NOBODY, MEMBERS, MEMBERS),
    Channel.CONTROL: Rule(ALONE, ANYBODY, ANYBODY, ANYBODY),  # joiners and other sides speak on it too
    Channel.STATE: Rule(ALONE, ANYBODY, MEMBERS, ANYBODY),  # chunks may be faster than the view that names their giver
}


def _is_open_to_members(rule: Rule) -> bool:
    return Sender.MEMBER in rule.in_view and Sender.MEMBER in rule.promised


# What is taken from a member of our view in every state, as nearly all that comes: channels, and types of messages that
# come alone in a datagram.
TAKEN_OF_MEMBERS: frozenset[Channel | type] = frozenset(
    [
        *(channel for channel, rule in STREAMS.items() if _is_open_to_members(rule)),
        *(
            kind
            for kind, declared in DECLARED.items()
            if Carrier.DATAGRAM in declared.rule.carriers and _is_open_to_members(declared.rule)
        ),
    ]
)


def takes(what: Packet | Control, sender: Sender, state: State) -> bool:
    """Decide whether this is taken from such a sender: a packet as it came, or one message of a control stream."""
    if isinstance(what, Loose):
        rule, carrier = DECLARED[type(what.message)].rule, Carrier.DATAGRAM
    elif isinstance(what, Control):
        rule, carrier = DECLARED[type(what)].rule, Carrier.STREAM
    else:  # a packet of a stream: run, ack, request, highest, refusal or reset
        return sender in STREAMS[what.channel].senders(state)
    return carrier in rule.carriers and sender in rule.senders(state)
