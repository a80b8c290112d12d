"""Which message is taken from whom, in which state, on which way; asked before a message costs anything.

Each control message says so where it is declared (control/declaration.py); packets of streams by the table below. What
has no rule is dropped and counted. The rules say who may speak; what a message may do is decided by the component that
takes it: a roll call is answered to who leads, a merge goes on for who was accepted as its leader.
Not the way a frame came: that its sender is where its address says is proved before (runtime/origins.py).
"""

from __future__ import annotations

from ringcast.core.control import DECLARED, Control
from ringcast.core.control.declaration import ALONE, ANYBODY, MEMBERS, NOBODY, Carrier, Rule, Sender, State
from ringcast.core.packets import Channel

STREAMS: dict[Channel, Rule] = {
    # The multicast looks at each run itself (multicast.py): early ones wait for their view.
    Channel.GROUP: Rule(ALONE, ANYBODY, MEMBERS, MEMBERS),
    Channel.PEER: Rule(ALONE, NOBODY, MEMBERS, MEMBERS),
    Channel.CONTROL: Rule(ALONE, ANYBODY, ANYBODY, ANYBODY),  # joiners and other sides speak on it too
    Channel.STATE: Rule(ALONE, ANYBODY, MEMBERS, ANYBODY),  # chunks may be faster than the view that names their giver
}


def takes_message(message: Control, carrier: Carrier, sender: Sender, state: State) -> bool:
    rule = DECLARED[type(message)].rule
    return carrier in rule.carriers and sender in rule.senders(state)


def takes_packet(channel: Channel, sender: Sender, state: State) -> bool:
    """A packet of a stream: run, ack, request, highest, refusal or reset."""
    return sender in STREAMS[channel].senders(state)
