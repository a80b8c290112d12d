"""Seed 004 as a table: what the view handler answers to each event, by the phase it is in.

Read it beside the seed. A row is one of the seed's sections "On reception of ...", a column is what the handler is
doing. Every cell is filled, and each has its test (tests/unit/core/membership/test_seed_004_table.py).

    event                  IDLE     TRANSFERRING  GATHERING           CHANGING  LEADING        FOLLOWING
    JOIN, JOIN_WITH_STATE,
    LEAVE, COORD_LEAVE     add      add           add                 busy      busy           busy
    SUSPECT                add      add           add                 tell      tell           tell, or resume #3
    PRIMARY                add      add           add                 discard   discard        discard
    MERGE                  start    discard       discard + process   discard   discard        discard
    MERGE-REQ              accept   reject        accept, or process  reject    reject others  reject others

PRIMARY is not the seed's: with the primary policy a coordinator asks itself for a view that is primary.
The seed has no column TRANSFERRING (it asks the question as its open issue). A merge that was turned away for long goes
first (`MergeTurn`): JOINs are told BUSY, and TRANSFERRING counts as IDLE for it. "accept, or process": the queued
requests wait for the merge and are processed behind it; only where the merge could not succeed, because it asks for a
member that a queued SUSPECT is to exclude, or where a joiner loads its state, it is rejected, and the queue processed.
"reject others": a MERGE-REQ with the merge id for which the handler is suspended is accepted again, for it is the
leader's own or a duplicate.
"""

from __future__ import annotations

from enum import Enum, StrEnum, auto

from ringcast.core.membership.requests import RequestKind


class Phase(StrEnum):
    IDLE = "idle"
    TRANSFERRING = "transferring state"  # idle, but a joiner has not confirmed its state
    GATHERING = "gathering"  # requests are queued; the gathering delay runs
    CHANGING = "changing the view"  # suspended: a batch of requests is being processed
    LEADING = "leading a merge"  # suspended: our own MERGE
    FOLLOWING = "following a merge"  # suspended: another coordinator's MERGE-REQ


class MergeEvent(StrEnum):
    MERGE = "MERGE"
    MERGE_REQ = "MERGE-REQ"


class Rule(Enum):
    ADD = auto()  # into the queue
    BUSY = auto()  # discard, and tell the asker at once
    TELL = auto()  # discard as a request, but tell the running roll call; the merge leader's own: resume, case #3
    START = auto()  # suspend, and begin the merge
    ACCEPT = auto()  # suspend, and take part in the merge
    DISCARD = auto()
    DISCARD_AND_PROCESS = auto()  # discard, and process the queue now
    REJECT = auto()  # answer at once with merge_rejected
    ACCEPT_OR_PROCESS = auto()  # suspend, and take part; if the queue must go first: reject, and process it now
    REJECT_OTHERS = auto()  # reject, unless it is the merge for which the handler is suspended


_ASKED = dict.fromkeys((Phase.IDLE, Phase.TRANSFERRING, Phase.GATHERING), Rule.ADD) | dict.fromkeys(
    (Phase.CHANGING, Phase.LEADING, Phase.FOLLOWING), Rule.BUSY
)
_SUSPECTED = _ASKED | dict.fromkeys((Phase.CHANGING, Phase.LEADING, Phase.FOLLOWING), Rule.TELL)
_PRIMARY = _ASKED | dict.fromkeys((Phase.CHANGING, Phase.LEADING, Phase.FOLLOWING), Rule.DISCARD)
_MERGE = {
    Phase.IDLE: Rule.START,
    Phase.TRANSFERRING: Rule.DISCARD,
    Phase.GATHERING: Rule.DISCARD_AND_PROCESS,
    Phase.CHANGING: Rule.DISCARD,
    Phase.LEADING: Rule.DISCARD,
    Phase.FOLLOWING: Rule.DISCARD,
}
_MERGE_REQ = {
    Phase.IDLE: Rule.ACCEPT,
    Phase.TRANSFERRING: Rule.REJECT,
    Phase.GATHERING: Rule.ACCEPT_OR_PROCESS,
    Phase.CHANGING: Rule.REJECT,
    Phase.LEADING: Rule.REJECT_OTHERS,
    Phase.FOLLOWING: Rule.REJECT_OTHERS,
}

RULES: dict[RequestKind | MergeEvent, dict[Phase, Rule]] = {
    RequestKind.JOIN: _ASKED,
    RequestKind.JOIN_WITH_STATE: _ASKED,
    RequestKind.LEAVE: _ASKED,
    RequestKind.COORD_LEAVE: _ASKED,
    RequestKind.SUSPECT: _SUSPECTED,
    RequestKind.PRIMARY: _PRIMARY,
    MergeEvent.MERGE: _MERGE,
    MergeEvent.MERGE_REQ: _MERGE_REQ,
}
